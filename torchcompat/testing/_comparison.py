"""Comparison of tensors, numbers and containers of them, with reports of where they differ.

Two inputs are taken apart into pairs of things that can be compared, each by the first class of pairs that takes it. Classes and methods
bear torch's names, since test suites derive pairs of their own.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

import torchcompat as torch

from autograd_tape import warned

Number = int | float | complex
Message = str | Callable[[str], str] | None

_SINGLE = (1.3e-6, 1e-5)
_DTYPE_PRECISIONS = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: _SINGLE, torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5), torch.complex64: _SINGLE, torch.complex128: (1e-7, 1e-7),
    **dict.fromkeys((torch.quint8, torch.quint2x4, torch.quint4x2, torch.qint8, torch.qint32), _SINGLE),
}
"""rtol and atol by dtype; others are exact."""

_COMPRESSED = {
    torch.sparse_csr: ("CSR", "crow_indices", "col_indices"), torch.sparse_csc: ("CSC", "ccol_indices", "row_indices"),
    torch.sparse_bsr: ("BSR", "crow_indices", "col_indices"), torch.sparse_bsc: ("BSC", "ccol_indices", "row_indices"),
}
"""What compressed formats are called, and the methods that give their indices."""

_LAYOUTS = {torch.strided, torch.sparse_coo, *_COMPRESSED}
_REPORT = ("If you are a user and see this message during normal operation please file an issue at "
           "https://github.com/pytorch/pytorch/issues. If you are a developer and working on the comparison functions, please ")


def _class(x: object) -> str:
    """The class of an object as messages of torch show it."""
    return repr(type(x)).replace("'torchcompat.", "'torch.")


def _path(id: tuple[object, ...]) -> str:
    """The way to an item of a container: `['a'][0]`."""
    return "".join(f"[{key!r}]" for key in id)


class UnsupportedInputs(Exception):
    """A class of pairs does not take these inputs: the next one is asked."""


class ErrorMeta(Exception):
    """What is wrong with a pair: the error to raise, before the caller's message is known.

    Args:
        type: of the error.
        msg: its text.
        id: the way to the item.
    """

    def __init__(self, type: type[Exception], msg: str, *, id: tuple[object, ...] = ()) -> None:
        super().__init__(_REPORT + "`raise ErrorMeta.to_error()` for user facing errors.")
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: Message = None) -> Exception:
        """The error, with the caller's message instead, or with what the caller makes of the message."""
        if isinstance(msg, str):
            return self.type(msg)
        text = self.msg + (f"\n\nThe failure occurred for item {_path(self.id)}" if self.id else "")
        return self.type(msg(text) if callable(msg) else text)


def default_tolerances(*inputs: Any, dtype_precisions: Mapping[Any, tuple[float, float]] | None = None) -> tuple[float, float]:
    """The largest rtol and atol of the dtypes of tensors, or of dtypes.

    >>> default_tolerances(torch.float16, torch.ones(2))
    (0.001, 1e-05)

    Raises:
        TypeError: an input is neither.
    """
    dtypes = [x.dtype if isinstance(x, torch.Tensor) else x for x in inputs]
    for x in dtypes:
        if not isinstance(x, torch.dtype):
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {_class(x)} instead.")
    found = [(dtype_precisions or _DTYPE_PRECISIONS).get(d, (0.0, 0.0)) for d in dtypes]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def get_tolerances(*inputs: object, rtol: float | None, atol: float | None, id: tuple[object, ...] = ()) -> tuple[float, float]:
    """The given tolerances, or those of the inputs where none is given.

    Raises:
        ErrorMeta: one of the two is missing.
    """
    if rtol is None and atol is None:
        return default_tolerances(*inputs)
    if rtol is None or atol is None:
        raise ErrorMeta(ValueError, "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                                    f"{'rtol' if rtol is None else 'atol'}.", id=id)
    return rtol, atol


def _differ(what: str, identifier: Message, relation: str, *lines: str) -> str:
    """A report, whose first line tells what does not match."""
    name = identifier(what) if callable(identifier) else identifier or what
    return "\n".join([f"{name} are not {relation}!", "", *lines])


def _relation(rtol: float, atol: float) -> str:
    return "equal" if rtol == atol == 0 else "close"


def _distances(absolute: float, relative: float, rtol: float, atol: float, where: Sequence[object] = ()) -> list[str]:
    """The lines that tell how far values are apart; greatest distances where `where` has their indices."""
    lines = []
    for i, (kind, distance, allowed) in enumerate((("absolute", absolute, atol), ("relative", relative, rtol))):
        line = f"Greatest {kind} difference: {distance} at index {where[i]}" if where else f"{kind.title()} difference: {distance}"
        lines.append(line if rtol == atol == 0 else f"{line} (up to {allowed} allowed)")
    return lines


def make_scalar_mismatch_msg(actual: Number, expected: Number, *, rtol: float, atol: float, identifier: Message = None) -> str:
    """The report on two numbers that are not close."""
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    return _differ("Scalars", identifier, _relation(rtol, atol), f"Expected {expected} but got {actual}.",
                   *_distances(absolute, relative, rtol, atol))


def make_tensor_mismatch_msg(actual: Any, expected: Any, matches: Any, *, rtol: float, atol: float, identifier: Message = None) -> str:
    """The report on two tensors of which not all elements match.

    Args:
        actual, expected: tensors of one shape and dtype.
        matches: a tensor of bools of that shape, false somewhere.
    """
    wrong, count = int((~matches).sum()), matches.numel()
    mismatched = f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"
    if actual.dtype.is_floating_point and actual.dtype.itemsize == 1:
        first = tuple((~matches).nonzero()[0].tolist())
        return _differ("Tensor-likes", identifier, "'equal'", mismatched, f"The first mismatched element is at index {first}.")
    if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    absolute = (actual - expected).abs()
    absolute[matches] = 0
    relative = absolute / expected.abs()
    relative[matches] = 0
    greatest = [x.flatten().max(0) for x in (absolute, relative)]
    where = [tuple(map(int, np.unravel_index(int(index), tuple(matches.shape)))) for _, index in greatest]
    most_absolute, most_relative = (value.item() for value, _ in greatest)
    return _differ("Tensor-likes", identifier, _relation(rtol, atol), mismatched,
                   *_distances(most_absolute, most_relative, rtol, atol, where))


class Pair:
    """Two things to be compared.

    Args:
        actual, expected: the two.
        id: the way to them in the containers that were compared.
        unknown_parameters: options of other classes of pairs.

    Raises:
        UnsupportedInputs: this class does not take them.
    """

    actual: Any
    expected: Any

    def __init__(self, actual: object, expected: object, *, id: tuple[object, ...] = (), **unknown_parameters: object) -> None:
        self.actual, self.expected, self.id, self._unknown_parameters = actual, expected, id, unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: object, cls: type | tuple[type, ...]) -> None:
        if not all(isinstance(x, cls) for x in inputs):
            raise UnsupportedInputs

    def _fail(self, type: type[Exception], msg: str, *, id: tuple[object, ...] = ()) -> NoReturn:
        raise ErrorMeta(type, msg, id=id or getattr(self, "id", ()))

    def compare(self) -> None:
        """Raises ErrorMeta where the two differ."""
        raise NotImplementedError

    def extra_repr(self) -> Sequence[str | tuple[str, object]]:
        """Names of attributes, or names and values, that the representation shows."""
        return ()

    def __repr__(self) -> str:
        names = ("id", "actual", "expected", *self.extra_repr())
        shown = [(name, getattr(self, name)) if isinstance(name, str) else name for name in names]
        return "\n".join([f"{type(self).__name__}(", *(f"    {name}={value!s}," for name, value in shown), ")"])


class ObjectPair(Pair):
    """Anything, compared by `==`."""

    def compare(self) -> None:
        try:
            equal = self.actual == self.expected
        except Exception as error:  # whatever the objects raise is told
            raise ErrorMeta(ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.", id=self.id) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Two of which one is None."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two bools, Python's or NumPy's."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...], **other_parameters: Any) -> None:
        super().__init__(*self._process_inputs(actual, expected, id=id), **other_parameters)  # torch does not tell where bools differ

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return (bool, np.bool_)

    def _process_inputs(self, actual: object, expected: object, *, id: tuple[object, ...]) -> tuple[bool, bool]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_bool(actual, id=id), self._to_bool(expected, id=id)

    def _to_bool(self, bool_like: object, *, id: tuple[object, ...]) -> bool:
        if not isinstance(bool_like, (bool, np.bool_)):
            raise ErrorMeta(TypeError, f"Unknown boolean type {_class(bool_like)}.", id=id)
        return bool(bool_like)

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Two numbers, Python's or NumPy's, which are close as those of int64, float64 and complex128.

    Args:
        rtol, atol: tolerances; both or none.
        equal_nan: whether NaN equals NaN.
        check_dtype: whether the types must be the same.
    """

    _TYPE_TO_DTYPE = {int: torch.int64, float: torch.float64, complex: torch.complex128}
    _NUMBER_TYPES = tuple(_TYPE_TO_DTYPE)

    def __init__(self, actual: object, expected: object, *, id: tuple[object, ...] = (), rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_dtype: bool = False, **other_parameters: object) -> None:
        super().__init__(*self._process_inputs(actual, expected, id=id), id=id, **other_parameters)
        dtypes = [self._TYPE_TO_DTYPE[type(x)] for x in (self.actual, self.expected)]
        self.rtol, self.atol = get_tolerances(*dtypes, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_dtype = equal_nan, check_dtype

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return (*self._NUMBER_TYPES, np.number)

    def _process_inputs(self, actual: object, expected: object, *, id: tuple[object, ...]) -> tuple[Number, Number]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_number(actual, id=id), self._to_number(expected, id=id)

    def _to_number(self, number_like: Any, *, id: tuple[Any, ...]) -> Number:
        if isinstance(number_like, np.number):
            number: Number = number_like.item()
            return number
        if not isinstance(number_like, (int, float, complex)):
            raise ErrorMeta(TypeError, f"Unknown number type {_class(number_like)}.", id=id)
        return number_like

    def compare(self) -> None:
        actual, expected = self.actual, self.expected
        if self.check_dtype and type(actual) is not type(expected):
            self._fail(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.")
        if actual == expected or self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
            return
        distance = abs(actual - expected)
        if not cmath.isfinite(distance) or distance > self.atol + self.rtol * abs(expected):
            self._fail(AssertionError, make_scalar_mismatch_msg(actual, expected, rtol=self.rtol, atol=self.atol))

    def extra_repr(self) -> Sequence[str]:
        return ("rtol", "atol", "equal_nan", "check_dtype")


class TensorLikePair(Pair):
    """Two tensors, or things that tensors are made of, one of whose types is the other's.

    Args:
        allow_subclasses: whether the types may differ.
        rtol, atol: tolerances; both or none, for those of the dtypes.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: whether these must be the same. Tensors are brought to one device, dtype and
            layout otherwise.
    """

    def __init__(self, actual: object, expected: object, *, id: tuple[object, ...] = (), allow_subclasses: bool = True,
                 rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
                 check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False, **other_parameters: object) -> None:
        super().__init__(*self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses), id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(self.actual, self.expected, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_device, self.check_dtype = equal_nan, check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def _process_inputs(self, actual: object, expected: object, *, id: tuple[object, ...],
                        allow_subclasses: bool) -> tuple[torch.Tensor, torch.Tensor]:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or not allow_subclasses and type(actual) is not type(expected):
            self._inputs_not_supported()
        actual, expected = self._to_tensor(actual), self._to_tensor(expected)
        self._check_supported(actual, id=id)
        self._check_supported(expected, id=id)
        return actual, expected

    def _to_tensor(self, tensor_like: object) -> torch.Tensor:
        if isinstance(tensor_like, torch.Tensor):
            return tensor_like
        try:
            return torch.as_tensor(tensor_like)
        except Exception:  # whatever is wrong with it, no tensor can be made of it
            self._inputs_not_supported()

    def _check_supported(self, tensor: torch.Tensor, *, id: tuple[object, ...]) -> None:
        if tensor.layout not in _LAYOUTS:
            raise ErrorMeta(ValueError, f"Unsupported tensor layout {tensor.layout}", id=id)

    def compare(self) -> None:
        actual, expected = self.actual, self.expected
        self._compare_attributes(actual, expected)
        if "meta" not in (actual.device.type, expected.device.type):
            self._compare_values(*self._equalize_attributes(actual, expected))

    def _compare_attributes(self, actual: torch.Tensor, expected: torch.Tensor) -> None:
        strides = self.check_stride and actual.layout is expected.layout is torch.strided
        for checked, name in ((True, "shape"), (self.check_layout, "layout"), (strides, "stride()"), (self.check_device, "device"),
                              (self.check_dtype, "dtype")):
            if checked:
                first, second = (x.stride() if name == "stride()" else getattr(x, name) for x in (actual, expected))
                if first != second:
                    self._fail(AssertionError, f"The values for attribute '{name}' do not match: {first} != {second}.")

    def _equalize_attributes(self, actual: torch.Tensor, expected: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both on one device, in one dtype (unsigned integers as int64, which others promote with), of one layout."""
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype != expected.dtype:
            dtype = torch.promote_types(*(torch.int64 if x.dtype in (torch.uint16, torch.uint32, torch.uint64) else x.dtype
                                          for x in (actual, expected)))
            actual, expected = actual.to(dtype), expected.to(dtype)
        if actual.layout != expected.layout:
            actual, expected = (x if x.layout is torch.strided else x.to_dense() for x in (actual, expected))
        return actual, expected

    def _compare_values(self, actual: Any, expected: Any) -> None:
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol, "equal_nan": self.equal_nan}
        if actual.layout is torch.sparse_coo:
            self._compare_sparse_coo_values(actual, expected, **options)
        elif actual.layout in _COMPRESSED:
            self._compare_sparse_compressed_values(actual, expected, **options)
        elif actual.dtype.is_floating_point and actual.dtype.itemsize == 1 and (self.rtol != 0 or self.atol != 0):
            self._fail(AssertionError, f"Rtol={self.rtol} and atol={self.atol} are not supported for bitwise comparison of low dimensional "
                                       "floats. Please use rtol=0.0 and atol=0.0.")
        else:
            self._compare_regular_values_close(actual, expected, **options)

    def _same_count(self, what: str, format: str, actual: int, expected: int) -> None:
        if actual != expected:
            self._fail(AssertionError, f"The number of {what} in sparse {format} tensors does not match: {actual} != {expected}")

    def _compare_sparse_coo_values(self, actual: Any, expected: Any, **options: Any) -> None:
        self._same_count("sparse dimensions", "COO", actual.sparse_dim(), expected.sparse_dim())
        self._same_count("specified values", "COO", actual._nnz(), expected._nnz())
        self._compare_regular_values_equal(actual._indices(), expected._indices(), identifier="Sparse COO indices")
        self._compare_regular_values_close(actual._values(), expected._values(), identifier="Sparse COO values", **options)

    def _compare_sparse_compressed_values(self, actual: Any, expected: Any, **options: Any) -> None:
        format, *methods = _COMPRESSED[actual.layout]
        self._same_count("specified values", format, actual._nnz(), expected._nnz())
        for method in methods:
            indices = [getattr(x, method)() for x in (actual, expected)]
            dtype = torch.promote_types(*(x.dtype for x in indices))  # int32 and int64 are both possible
            self._compare_regular_values_equal(*(x.to(dtype) for x in indices), identifier=f"Sparse {format} {method}")
        self._compare_regular_values_close(actual.values(), expected.values(), identifier=f"Sparse {format} values", **options)

    def _compare_regular_values_equal(self, actual: torch.Tensor, expected: torch.Tensor, *, equal_nan: bool = False,
                                      identifier: Message = None) -> None:
        self._compare_regular_values_close(actual, expected, rtol=0, atol=0, equal_nan=equal_nan, identifier=identifier)

    def _compare_regular_values_close(self, actual: Any, expected: Any, *, rtol: float, atol: float, equal_nan: bool,
                                      identifier: Message = None) -> None:
        small = actual.dtype.is_floating_point and actual.dtype.itemsize == 1  # whose values single precision has, with more operations
        first, second = (x.to(torch.float32) if small else x for x in (actual, expected))
        matches = torch.isclose(first, second, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if matches.all():
            return
        if actual.ndim:
            msg = make_tensor_mismatch_msg(actual, expected, matches, rtol=rtol, atol=atol, identifier=identifier)
        else:
            msg = make_scalar_mismatch_msg(actual.item(), expected.item(), rtol=rtol, atol=atol, identifier=identifier)
        self._fail(AssertionError, msg)

    def extra_repr(self) -> Sequence[str]:
        return ("rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride")


def originate_pairs(actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]], sequence_types: tuple[type, ...] = (Sequence,),
                    mapping_types: tuple[type, ...] = (Mapping,), id: tuple[Any, ...] = (), **options: Any) -> list[Pair]:
    """The pairs of two things, taken apart where both are sequences or both are mappings.

    Args:
        pair_types: classes of pairs, of which the first that takes two things is theirs.
        sequence_types, mapping_types: what is taken apart; strings are not.
        id: the way to the two.
        options: of the pairs.

    Raises:
        ErrorMeta: lengths or keys differ, or no class takes two things.
        RuntimeError: a class failed otherwise.
    """
    inner = {"pair_types": pair_types, "sequence_types": sequence_types, "mapping_types": mapping_types, **options}
    both = (actual, expected)
    if all(isinstance(x, sequence_types) and not isinstance(x, str) for x in both):
        if len(actual) != len(expected):
            raise ErrorMeta(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", id=id)
        keys: list[Any] = list(range(len(actual)))
    elif all(isinstance(x, mapping_types) for x in both):
        if set(actual) != set(expected):
            missing, additional = sorted(set(expected) - set(actual)), sorted(set(actual) - set(expected))
            raise ErrorMeta(AssertionError, f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {missing}\n"
                                            f"Additional keys in the actual mapping: {additional}", id=id)
        try:
            keys = sorted(actual)  # the first failure is the one that is told
        except TypeError:
            keys = list(actual)
    else:
        return [_pair(actual, expected, pair_types, id, options)]
    return [pair for key in keys for pair in originate_pairs(actual[key], expected[key], id=(*id, key), **inner)]


def _pair(actual: object, expected: object, pair_types: Sequence[type[Pair]], id: tuple[object, ...], options: dict[str, object]) -> Pair:
    """The pair of the first class that takes the two."""
    for cls in pair_types:
        try:
            return cls(actual, expected, id=id, **options)
        except UnsupportedInputs:
            continue
        except ErrorMeta:
            raise
        except Exception as error:  # told with what was compared
            raise RuntimeError(f"Originating a {cls.__name__}() at item {_path(id)} with\n\n{type(actual).__name__}(): {actual}\n\nand\n\n"
                               f"{type(expected).__name__}(): {expected}\n\nresulted in the unexpected exception above. {_REPORT}"
                               "except the previous error and raise an expressive `ErrorMeta` instead.") from error
    raise ErrorMeta(TypeError, f"No comparison pair was able to handle inputs of type {_class(actual)} and {_class(expected)}.", id=id)


def not_close_error_metas(actual: object, expected: object, *, pair_types: Sequence[type[Pair]] = (ObjectPair,),
                          sequence_types: tuple[type, ...] = (Sequence,), mapping_types: tuple[type, ...] = (Mapping,),
                          **options: Any) -> list[ErrorMeta]:
    """What is wrong with each pair that differs; see `originate_pairs`.

    Raises:
        AssertionError, TypeError, ValueError: the two cannot be taken apart into pairs.
        RuntimeError: a comparison failed otherwise.
    """
    __tracebackhide__ = True  # from pytest
    try:
        pairs = originate_pairs(actual, expected, pair_types=pair_types, sequence_types=sequence_types, mapping_types=mapping_types,
                                **options)
    except ErrorMeta as error:
        raise error.to_error() from None
    found = []
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as error:
            found.append(error.with_traceback(None))  # whose frames would keep what was compared
        except Exception as error:  # told with what was compared
            raise RuntimeError(f"Comparing\n\n{pair}\n\nresulted in the unexpected exception above. {_REPORT}"
                               "except the previous error and raise an expressive `ErrorMeta` instead.") from error
    return found


def assert_close(actual: object, expected: object, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
                 equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
                 check_stride: bool = False, msg: Message = None) -> None:
    """Asserts that tensors, numbers, or sequences and mappings of them are close: `|actual - expected| <= atol + rtol * |expected|`.

    Args:
        actual, expected: the two. What is no tensor and no number is made a tensor, and one of the types must be the other's.
        allow_subclasses: whether the types may differ.
        rtol, atol: tolerances; both or none, for those of the dtypes.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: whether these must be the same.
        msg: the error's text, or a function that makes it of the generated one.

    Raises:
        AssertionError: they are not close, or not alike.
        TypeError: they cannot be compared.
        ValueError: one tolerance alone is given.

    >>> assert_close(torch.tensor([1., 4., 5.]), torch.tensor([1., 2., 3.]))
    Traceback (most recent call last):
    ...
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 2 / 3 (66.7%)
    Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 1.0 at index (1,) (up to 1.3e-06 allowed)
    """
    __tracebackhide__ = True  # from pytest
    found = not_close_error_metas(
        actual, expected, pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair), allow_subclasses=allow_subclasses, rtol=rtol,
        atol=atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype, check_layout=check_layout,
        check_stride=check_stride, msg=msg)
    if found:
        raise found[0].to_error(msg)


def assert_allclose(actual: object, expected: object, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
                    msg: str = "") -> None:
    """The deprecated form of `assert_close`, whose tolerances are larger and which compares any two dtypes."""
    warned.warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
                "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
                "https://github.com/pytorch/pytorch/issues/61844.", FutureWarning)
    actual = actual if isinstance(actual, torch.Tensor) else torch.tensor(actual)
    expected = expected if isinstance(expected, torch.Tensor) else torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected, dtype_precisions={
            torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)})
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
