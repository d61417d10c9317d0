"""New tensors: filled with a number, ranges, identity matrices, index patterns.

None of these takes part in gradients. Each takes `dtype`, `device`, `requires_grad`, and `layout` and `pin_memory`, which mean
nothing here beyond being checked; the plain functions also take `out`. `F.default_device` is the device of tensors made without
naming one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import warned
from ...dtypes import (
    BOOL, CPU, CPU_KINDS, FLOATING, INT64_KIND, OPAQUE, SCALAR_TYPE_NAMES, DType, Device, Kind, default_dtype,
    dtype_of, kind, number_array, scalar_dtype,
)
from ...errors import ArgumentError, AutogradError, MissingKernelError, UnsupportedDTypeError, type_name
from ...executors import executor_for
from ...executors.kernels.handy import Exact
from ...executors.kernels.sharing import fill, set_all
from ...executors.meta import meta_array
from ...functions.namespace import KIND_SETS, REALS
from ...functions.overloads import no_match
from ...functions.refusals import on_meta
from ...record import op
from ...strided import contiguous_strides, empty_in_order, empty_strided, reach, too_large
from ...tensor import LEAF, TensorRef, as_dtype, leaf_node
from .._host import NO_ITEM, need_values, values_of
from .._samples import check_number
from ..networks._losses import constant
from .._shapes import given_size
from ..views.shape import _format_strides
from ...annotations import Arguments, Fn, Functions, Keywords, Number, Sizes

if TYPE_CHECKING:
    from ...functions.irregular import Irregular

_OPTIONS = "*, dtype? dtype=None, Any layout=None, Any device=None, bool? pin_memory=False, bool? requires_grad=False"


# -- what all share -------------------------------------------------------------------------------------------------------


def named_size(name: str, size: tuple[object, ...], named: Keywords) -> Arguments:
    """The sizes, which may also be given as `size=`; ArgumentError for any other keyword, or for both.

    >>> named_size("rand", (), {"size": (2, 3)}), named_size("rand", (2, 3), {})
    (((2, 3),), (2, 3))
    """
    if not named:
        return size
    other = next((key for key in named if key != "size"), None)
    if other is not None:
        raise ArgumentError(f"{name}() got an unexpected keyword argument '{other}'", expected="'size'", found=f"'{other}'")
    if size:
        raise ArgumentError(f"{name}() got multiple values for argument 'size'", remedy="give the sizes once")
    return (named["size"],)


def check_storage(shape: Sequence[int], itemsize: int, strides: Sequence[int] | None = None) -> None:
    """Raises torch's error for tensors of more bytes than there are numbers for."""
    size = math.prod(shape) if strides is None else reach(shape, strides)
    if 0 not in shape and (size * itemsize > _MOST_BYTES or strides is not None and min(strides, default=0) < 0):
        laid = "" if strides is None else f" and strides={list(strides)}"
        raise AutogradError(f"Storage size calculation overflowed with sizes={list(shape)}{laid}", found=f"{size} elements")


_MOST_BYTES = 2 ** 63 - 1


def _device(F: Functions, device: Device | str | None) -> Device:
    if device is None:
        return CPU if F.default_device is None else F.default_device
    return device if device.__class__ is Device else Device(device)


def finish(F: Functions, array: np.ndarray, device: Device | str | None, requires_grad: bool, out: object = None,
           layout: object = None) -> TensorRef:
    """A tensor over a fresh array, on a device; or `out` with its values."""
    if layout is None and out is None and (F.default_device is None if device is None else device is CPU):
        k = CPU_KINDS[array.dtype]
        if not k.dtype.group:  # of which nothing is to be said
            t = F.wrap(array, k)
            if requires_grad:
                t._node = leaf_node(k.dtype, True)
            return t
    if layout is not None and str(layout) != "torch.strided":
        return F.in_layout("full", array.shape, CPU_KINDS[array.dtype].dtype, layout, device, requires_grad)
    if out is not None:
        return F.write_out(None, out, [F.wrap(array)])
    place = _device(F, device)
    if place.type != "cpu":
        executor_for(place)  # says what is missing where the device cannot be used
    k = CPU_KINDS[array.dtype] if place == CPU else kind(CPU_KINDS[array.dtype].dtype, place)
    if place.type == "meta":
        array = meta_array(array.shape, array.dtype, array.strides)
    warned.made(k.dtype.group)
    t = F.wrap(array, k)
    if requires_grad:
        t._node = leaf_node(k.dtype, True)
    return t


_KEPT = 256  # geometries that are kept
_NUMBERS = frozenset([int, float])
_LARGEST = 2 ** 40  # elements of a result beyond which memory is asked for, and refused, elsewhere


def _kind_of(F: Functions, dtype: Any, device: object) -> Kind | None:
    """The kind of new tensors of a dtype, the default one where that is None; None where more is to be done than to wrap an array."""
    if (device is None or device is CPU) and F.default_device is None:
        k = CPU_KINDS[default_dtype().np] if dtype is None else CPU_KINDS[dtype.np] if dtype.__class__ is DType else None
        return k if k in F.namespace["Q_ANY"] else None
    return None


def _are_sizes(size: object) -> bool:
    """Whether these are sizes as nearly all are."""
    return size.__class__ is tuple and not [n for n in size if n.__class__ is not int or n < 0]


_INTEGERS = frozenset([int])
_ndarray, _empty = np.ndarray, np.empty


def _are_integers(size: object) -> bool:
    """The same where NumPy is to refuse negative ones."""
    return size.__class__ is tuple and _INTEGERS.issuperset(map(type, size))


def _hold_integers(numbers: Arguments) -> None:
    """Raises where some are none, which leads to where that is told; and what was an error is not kept."""
    if not _INTEGERS.issuperset(map(type, numbers)):
        raise TypeError("sizes are integers")


def _shaped(array: np.ndarray, out: Any) -> np.ndarray:
    """The array in the shape of an `out` that has as many elements, which keeps it."""
    return array if out is None or out._data.size != array.size else array.reshape(out._data.shape)


def _dtype(value: DType | None) -> DType:
    return default_dtype() if value is None else value if value.__class__ is DType else as_dtype(value)


def filled(shape: Sizes, value: Number, dtype: DType) -> np.ndarray:
    """A new array of one number."""
    if dtype.category == OPAQUE:
        raise MissingKernelError(f"\"{'fill_cpu' if shape else 'fill_out'}\" not implemented for '{dtype.scalar}'")
    array = np.empty(shape, dtype.np)
    fill(array, number_array(value, dtype))
    return array


def _fresh(name: str, make_array: Callable[..., np.ndarray]) -> tuple[Fn, Fn]:
    """The fields `make` and `function` of `name(*size, dtype=None, ...)`: the quiet path in one frame, and the whole."""
    def make(F: Functions, ns: object, general: Irregular | Fn) -> Fn:
        Tensor, new = F.Tensor, object.__new__
        no_sizes = frozenset([np.ndarray, type(None), Tensor])  # which NumPy takes, and torch does not

        def factory(*size, dtype=None, device=None, requires_grad=False, out=None, layout=None, pin_memory=False, **named):
            try:
                k = CPU_KINDS[(default_dtype() if dtype is None else dtype).np]
                if (device is None or device is CPU) and out is None and layout is None and (
                        k is ns["Q_F32"] or k in ns["Q_ALL"] or k in ns["Q_HALF"]) and size and not named and F.default_device is None:
                    t = new(Tensor)
                    t._data = make_array(size[0] if len(size) == 1 and size[0].__class__ not in no_sizes else size, k.np)
                    t._k = k
                    t._node = t._v = t._base = None
                    if requires_grad:
                        if k.dtype.category < FLOATING:
                            raise ValueError
                        t._node = LEAF
                    return t
            except (TypeError, ValueError, AttributeError, IndexError):
                pass  # the general path says what is wrong, or does it
            return general((size, dtype, device, requires_grad, layout, pin_memory, named), out)

        factory.__name__ = factory.__qualname__ = name
        return factory

    def function(F, *size, dtype=None, device=None, requires_grad=False, out=None, layout=None, pin_memory=False, **named):
        memory_format = named.pop("memory_format", None) if name == "empty" else None
        size = named_size(name, size, named)
        if not size:  # torch takes zeros(()) but not zeros()
            raise ArgumentError(f"{name}() missing 1 required positional arguments: \"size\"")
        shape, dtype = given_size(F, name, size), out._k.dtype if dtype is None and out is not None else _dtype(dtype)
        check_storage(shape, dtype.itemsize)
        if layout is not None and str(layout) != "torch.strided":
            return F.in_layout(name, shape, dtype, layout, device, requires_grad)
        if str(memory_format) == "torch.preserve_format":
            raise AutogradError("unsupported memory format Preserve", remedy="use empty_like for another tensor's order")
        strides = None if memory_format is None else _format_strides(np.broadcast_to(np.float32(0), shape), memory_format)
        if strides is not None and out is None:
            return F.empty_strided(shape, strides, dtype=dtype, device=device, requires_grad=requires_grad)
        return finish(F, _array(F, make_array, shape, dtype, device), device, requires_grad, out, layout)

    return make, function


def _array(F: Functions, make_array: Callable[..., np.ndarray], shape: Sequence[int], dtype: DType,
           device: str | Device | None) -> np.ndarray:
    """The array; of a single element's memory where the device is meta, so that shapes of any size cost nothing."""
    if device is not CPU and _device(F, device).type == "meta":
        return meta_array(tuple(shape), dtype.np)
    try:
        return make_array(shape, dtype.np)
    except (ValueError, MemoryError):
        if len(shape) <= 32 and min(shape, default=0) >= 0:
            raise too_large(shape, dtype.itemsize) from None
        raise


@op(f"zeros(int[] size, {_OPTIONS}) -> Tensor", method=False)
class zeros:
    """A tensor of zeros.

    >>> torch.zeros(2)
    tensor([0., 0.])
    """

    make, function = _fresh("zeros", np.zeros)
    def errors(rng): yield (-1,), RuntimeError, "zeros: Dimension size must be non-negative."
    def samples(rng): yield (2, 3)


@cache
def _one(dtype: np.dtype, ndim: int) -> np.ndarray:
    return filled((1,) * ndim, 1, DType.by_np[dtype]).reshape(())  # which refuses dtypes in words that tell a number from an array


def _ones(shape: Sizes, dtype: np.dtype) -> np.ndarray:
    array = _empty(shape, dtype)  # np.ones is a Python function, and slower
    if array.size < (_FEW if dtype.char in "fd" else _SHORT) and dtype.isbuiltin == 1:
        array.fill(1)
    elif dtype.char in "fd":
        set_all(array, 1)
    else:
        fill(array, _one(dtype, array.ndim))
    return array


@op(f"ones(int[] size, {_OPTIONS}) -> Tensor", method=False)
class ones:
    """A tensor of ones.

    >>> torch.ones(2, dtype=torch.int64)
    tensor([1, 1])
    """

    make, function = _fresh("ones", _ones)
    def samples(rng): yield (2, 3)


@op(f"empty(int[] size, {_OPTIONS}) -> Tensor", method=False)
class empty:
    """A tensor whose values are not set.

    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """

    unset = True
    make, function = _fresh("empty", np.empty)
    def samples(rng): yield (2, 3)


def _memory(k: Kind, size: tuple[int, ...], stride: tuple[int, ...]) -> np.ndarray | None:
    """An unset array with strides; None where the sizes or strides are none as nearly all are."""
    dtype = k.np
    if size.__class__ is not tuple or (laid := _laid(dtype.itemsize, len(size), *size, *stride)) is None:
        return None
    memory, order, steps = laid
    array = _empty(memory, dtype)
    return (_ndarray(size, dtype, array, 0, steps) if order is None else array.T if order == _COLUMNS else
            array.transpose(order) if order else array)


_COLUMNS = (1, 0)


Laid = tuple[int | tuple[int, ...], tuple[int, ...] | None, tuple[int, ...]]


@lru_cache(_KEPT, typed=True)
def _laid(item: int, n: int, *numbers: int) -> Laid | None:
    """The memory of a geometry, `n` sizes and as many strides: rows, and the order in which its dimensions stand there, if it is another;
    or where it has gaps, how many elements, and None; and its strides in bytes. None where there is something to say of it."""
    _hold_integers(numbers)
    size, stride = numbers[:n], numbers[n:]
    if len(size) != len(stride) or min((*size, *stride), default=0) < 0 or (many := reach(size, stride)) > 1 << 40 or len(size) > 32:
        return None
    falling = sorted(range(len(size)), key=lambda d: -stride[d])
    rows, steps = tuple([size[d] for d in falling]), tuple([s * item for s in stride])
    if 0 in size or [stride[d] for d in falling] != [*contiguous_strides(rows)]:
        return many, None, steps
    return rows, () if falling == sorted(falling) else _turned_back(tuple(falling)), steps


@op(f"empty_strided(int[] size, int[] stride, {_OPTIONS}) -> Tensor", method=False, out=False)
class empty_strided_:
    """A tensor with the given strides, whose values are not set.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """

    unset = True
    fresh = _memory

    def function(F, size, stride, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        if len(size) != len(stride):
            raise AutogradError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})",
                                expected=f"{len(size)} strides", found=str(len(stride)))
        shape = given_size(F, "empty_strided", (size,))
        check_storage(shape, _dtype(dtype).itemsize, tuple(stride))
        return finish(F, empty_strided(shape, tuple(stride), _dtype(dtype).np), device, requires_grad, None,
                      layout)

    def samples(rng): yield (2, 3), (1, 2)


@lru_cache(_KEPT)
def _turned_back(order: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where each of so many dimensions stands in an order of them; None where it is none."""
    places = {operator.index(d): i for i, d in enumerate(order)}
    return tuple([places[d] for d in range(len(order))]) if sorted(places) == list(range(len(order))) and len(order) < 33 else None


@lru_cache(_KEPT, typed=True)
def _permuted(n: int, *numbers: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """`n` sizes as they lie in memory, in the order of the dimensions that follow them, and the way back; None where there is something to
    say of them."""
    _hold_integers(numbers)
    size, order = numbers[:n], numbers[n:]
    back = _turned_back(order) if len(order) == n and min(numbers, default=0) >= 0 else None
    return None if back is None else (tuple([size[d] for d in order]), back)


@op(f"empty_permuted(int[] size, int[] physical_layout, {_OPTIONS}) -> Tensor", method=False, out=False)
class empty_permuted:
    """A tensor whose values are not set, with the dimensions in memory in the given order, that with the longest steps first.

    >>> torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """

    unset = True

    def fresh(k, size, physical_layout):
        if size.__class__ is tuple and (laid := _permuted(len(size), *size, *physical_layout)) is not None:
            return _empty(laid[0], k.np).transpose(laid[1])

    def function(F, size, physical_layout, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        if not isinstance(size, (tuple, list)):
            raise ArgumentError(f"empty_permuted(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
        shape, order = tuple(size), tuple(physical_layout)
        n = len(shape)
        if len(order) != n:
            raise AutogradError("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
                                f"{n} is not equal to len(physical_layout) = {len(order)}")
        for i, d in enumerate(order):
            if not 0 <= d < n:
                raise AutogradError(f"Dimension out of range (expected to be between 0 and {n - 1}, but got {d} at index {i}).  NB: "
                                    "negative dims not currently supported; file an issue if you want it.")
            if d in order[:i]:
                raise AutogradError("Duplicate dim not allowed")
        physical = given_size(F, "empty_permuted", ([shape[d] for d in order],))
        made = _array(F, np.empty, physical, _dtype(dtype), device)
        return finish(F, made.transpose(np.argsort(order)) if n else made, device, requires_grad, None, layout)

    def samples(rng): yield (2, 3, 4), (0, 2, 1)
    def errors(rng): yield ((2, 3), (0, 0)), RuntimeError, "Duplicate dim not allowed"


@op(f"full(int[] size, Scalar fill_value, {_OPTIONS}) -> Tensor", method=False)
class full:
    """A tensor with one value everywhere, of that value's dtype.

    >>> torch.full((2,), 3)
    tensor([3, 3])
    """

    def fresh(k, size, fill_value):
        """Of integers `function` finds the dtype."""
        return _all_alike(size, fill_value, k) if fill_value.__class__ is float and _are_integers(size) else None

    def function(F, size, fill_value, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        if out is None and layout is None and not requires_grad and _are_sizes(size) and (
                k := _kind_of(F, INT64_KIND.dtype if dtype is None and fill_value.__class__ is int else dtype, device)) is not None and (
                    (array := _all_alike(size, fill_value, k)) is not None):
            return F.wrap(array, k)
        if isinstance(fill_value, TensorRef):
            fill_value = fill_value.item()
        if dtype is None:
            # A complex number has two float32 where the default is half precision, other than in `tensor`.
            dtype = out._k.dtype if out is not None else _number_dtype(fill_value)
            if dtype.group == "chalf" and out is None:
                dtype = DType.by_name["complex64"]
        if not isinstance(size, (tuple, list)):
            raise ArgumentError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type_name(size)}",
                                expected="tuple of ints", found=type_name(size), remedy="pass (size,)")
        shape = given_size(F, "full", (size,))
        check_storage(shape, _dtype(dtype).itemsize)
        check_number(fill_value, _dtype(dtype))
        array = _array(F, lambda s, d: filled(s, fill_value, DType.by_np[d]), shape, _dtype(dtype), device)
        return finish(F, array, device, requires_grad, out, layout)

    def errors(rng): yield ((-2,), 1), RuntimeError, "Trying to create tensor with negative dimension -2: [-2]"
    def samples(rng): yield (2, 3), 1.5


def _all_alike(size: tuple[int, ...], value: object, k: Kind) -> np.ndarray | None:
    """A new array of a plain number; None where the number may not be one of the dtype."""
    dtype = k.np
    category = k.dtype.category
    most = 65000 if category >= FLOATING else 128
    if not (value.__class__ in _NUMBERS and -most < value < most and dtype.kind != "u"):  # type: ignore[operator]
        return None
    array = _empty(size, dtype)
    if dtype.char in "fd":
        set_all(array, value)  # type: ignore[arg-type]  # a number
    elif value and category == FLOATING and dtype.itemsize == 2:  # rounded from float32
        set_all(array.view(WORD), half_bits(k, value))
    elif array.size < _SHORT and dtype.isbuiltin == 1 and dtype.itemsize > 2:
        array.fill(value)
    else:
        found = k.scalars.get(value)
        fill(array, k.scalar(value) if found is None else found)  # type: ignore[arg-type]  # a number
    return array


WORD = np.dtype(np.uint16)


@lru_cache(_KEPT, typed=True)
def half_bits(k: Kind, value: float) -> int:
    """What a number is in half precision, of which zero may have a sign that is not told."""
    return int(k.scalar(value).view(WORD))


def _number_dtype(value: Number) -> DType:
    return scalar_dtype(value)


# -- like another tensor -----------------------------------------------------------------------------------------------------


def _like_array(input: TensorRef, dtype: Any, memory_format: object) -> np.ndarray:
    """An unset array of `input`'s shape and, where that is dense, its strides."""
    data, want = input._data, input._k.np if dtype is None else _dtype(dtype).np
    if memory_format is not None and str(memory_format) != "torch.preserve_format":
        strides = _format_strides(data, memory_format)
        return np.empty(data.shape, want) if strides is None else empty_strided(data.shape, strides, want)
    if data.flags.c_contiguous:
        return np.empty(data.shape, want)
    return empty_in_order(data, want)


def _like(name: str, value: int | None, make_array: Callable[..., np.ndarray]) -> tuple[Fn, Fn]:
    """The fields `fresh` and `function` of what is filled with `value`, or with nothing."""
    def fresh(k: Kind, data: np.ndarray) -> np.ndarray:
        flags = data.flags
        if flags.c_contiguous:
            return make_array(data.shape, k.np)
        if flags.f_contiguous and data.ndim == 2:  # neither size is one, so this order alone is meant
            return make_array(data.shape[::-1], k.np).T
        array = empty_in_order(data, k.np)
        if value is not None:
            fill(array, k.scalar(value))
        return array

    def function(F: Functions, input: TensorRef, *, dtype: object = None, layout: object = None, device: Any = None,
                 pin_memory: bool = False, requires_grad: bool = False, memory_format: object = None) -> TensorRef:
        k = input._k
        if layout is not None and str(layout) != "torch.strided":
            return F.in_layout(name, tuple(input.shape), k.dtype if dtype is None else dtype, layout, device, requires_grad)
        array = _like_array(input, dtype, memory_format)
        device = input._k.device if device is None else device
        if value is not None and Device(device).type != "meta":
            fill(array, filled((), value, dtype_of(array)) if value else np.zeros((), array.dtype))
        return F.made_like(input, finish(F, array, device, requires_grad, None, layout))

    return fresh, function


_LIKE = "Tensor input, " + _OPTIONS + ", Any memory_format=None"


@op(f"zeros_like({_LIKE}) -> Tensor", method=False, out=False)
class zeros_like:
    """Zeros with the shape, dtype and layout of a tensor.

    >>> torch.zeros_like(torch.ones(2))
    tensor([0., 0.])
    """

    fresh, function = _like("zeros_like", 0, np.zeros)
    def samples(rng): yield (rng.standard_normal((3, 2)).T,)


@op(f"ones_like({_LIKE}) -> Tensor", method=False, out=False)
class ones_like:
    """Ones with the shape, dtype and layout of a tensor.

    >>> torch.ones_like(torch.zeros(2))
    tensor([1., 1.])
    """

    fresh, function = _like("ones_like", 1, _ones)
    def samples(rng): yield (rng.standard_normal((3, 2)).T,)


@op(f"empty_like({_LIKE}) -> Tensor", method=False, out=False)
class empty_like:
    """A tensor with the shape, dtype and layout of a tensor, whose values are not set.

    >>> torch.empty_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """

    unset = True
    fresh, function = _like("empty_like", None, np.empty)
    def samples(rng): yield (np.zeros((3, 2), np.int64).T,)


@op(f"full_like({_LIKE.replace('input,', 'input, Scalar fill_value,')}) -> Tensor", method=False, out=False)
class full_like:
    """One value with the shape, dtype and layout of a tensor.

    >>> torch.full_like(torch.zeros(2), 3)
    tensor([3., 3.])
    """

    def fresh(k, data, fill_value):
        flags = data.flags
        if flags.c_contiguous:
            return _all_alike(data.shape, fill_value, k)
        found = _all_alike(data.shape[::-1], fill_value, k) if flags.f_contiguous and data.ndim == 2 else None
        return None if found is None else found.T

    def function(F, input, fill_value, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None):
        k = input._k
        if dtype is None and device is None and not requires_grad and memory_format is None and layout is None \
                and k in F.namespace["Q_ANY"] and fill_value.__class__ in REALS:
            data = input._data
            if data.flags.c_contiguous and (array := _all_alike(data.shape, fill_value, k)) is not None:
                return F.wrap(array, k)
            check_number(fill_value, k.dtype)
            array = np.empty(data.shape, k.np) if data.flags.c_contiguous else empty_in_order(data, k.np)
            fill(array, number_array(fill_value, k.dtype))
            return F.wrap(array, k)
        array = _like_array(input, dtype, memory_format)
        device = input._k.device if device is None else device
        value = fill_value.item() if isinstance(fill_value, TensorRef) else fill_value
        check_number(value, dtype_of(array))
        if Device(device).type != "meta":
            fill(array, filled((), value, dtype_of(array)))
        return F.made_like(input, finish(F, array, device, requires_grad, None, layout))

    def samples(rng): yield rng.standard_normal((3, 2)).T, 2.5


def _new(name: str, make_array: Callable[..., np.ndarray]) -> tuple[Fn, Fn]:
    """The fields `fresh` and `function`."""
    def fresh(k: Kind, data: np.ndarray, size: tuple[Any, ...]) -> np.ndarray | None:
        return make_array(size[0] if len(size) == 1 and size[0].__class__ is tuple else size, k.np) if size else None

    def function(F: Functions, self: TensorRef, *size: Any, dtype: Any = None, layout: Any = None, device: Any = None,
                 pin_memory: bool = False,
                 requires_grad: bool = False, **named: object) -> TensorRef:
        k = self._k
        if k in F.namespace["Q_ANY"] and dtype is None and device is None and layout is None and not requires_grad and not named and size:
            return F.wrap(_array(F, make_array, given_size(F, name, size), k.dtype, CPU), k)
        size = named_size(name, size, named)
        if not size:
            raise ArgumentError(f"{name}() missing 1 required positional arguments: \"size\"")
        dtype, device = self._k.dtype if dtype is None else _dtype(dtype), self._k.device if device is None else device
        result = finish(F, _array(F, make_array, given_size(F, name, size), dtype, device), device, requires_grad, None, layout)
        return F.made_like(self, result)

    return fresh, function


_NEW = "Tensor input, int[] size, " + _OPTIONS


@op(f"new_zeros({_NEW}) -> Tensor", out=False, namespace="Tensor")
class new_zeros:
    """Zeros of a shape with this tensor's dtype and device.

    >>> torch.ones(1, dtype=torch.int64).new_zeros(2)
    tensor([0, 0])
    """

    fresh, function = _new("new_zeros", np.zeros)
    method = function
    def samples(rng): yield rng.standard_normal(1), 2, 3


@op(f"new_ones({_NEW}) -> Tensor", out=False, namespace="Tensor")
class new_ones:
    """Ones of a shape with this tensor's dtype and device.

    >>> torch.zeros(1).new_ones(2)
    tensor([1., 1.])
    """

    fresh, function = _new("new_ones", _ones)
    method = function
    def samples(rng): yield rng.standard_normal(1), 2, 3


@op(f"new_empty({_NEW}) -> Tensor", out=False, namespace="Tensor")
class new_empty:
    """A tensor of a shape with this tensor's dtype and device, whose values are not set.

    >>> torch.zeros(1).new_empty(2, 3).shape
    torch.Size([2, 3])
    """

    unset = True
    fresh, function = _new("new_empty", np.empty)
    method = function
    def samples(rng): yield rng.standard_normal(1), 2, 3


@op(f"new_full({_NEW.replace('size,', 'size, Scalar fill_value,')}) -> Tensor", out=False, namespace="Tensor")
class new_full:
    """One value of a shape with this tensor's dtype and device.

    >>> torch.zeros(1).new_full((2,), 3)
    tensor([3., 3.])
    """

    def fresh(k, data, size, fill_value): return _all_alike(size, fill_value, k) if _are_integers(size) else None

    def function(F, self, size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        value = fill_value.item() if isinstance(fill_value, TensorRef) else fill_value
        result = F.full(size, value, dtype=self._k.dtype if dtype is None else dtype, device=self._k.device if device is None else device,
                        requires_grad=requires_grad, layout=layout)
        return F.made_like(self, result)

    method = function
    def samples(rng): yield rng.standard_normal(1), (2, 3), 1.5


@op(f"new_empty_strided({_NEW.replace('size,', 'size, int[] stride,')}) -> Tensor", out=False, namespace="Tensor")
class new_empty_strided:
    """A tensor with the given strides and this tensor's dtype and device, whose values are not set.

    >>> torch.zeros(1).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """

    unset = True
    def fresh(k, data, size, stride): return _memory(k, size, stride)

    def function(F, self, size, stride, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        return F.empty_strided(size, stride, dtype=self._k.dtype if dtype is None else dtype,
                               device=self._k.device if device is None else device, requires_grad=requires_grad, layout=layout)

    method = function
    def samples(rng): yield rng.standard_normal(1), (2, 3), (1, 2)


# -- ranges --------------------------------------------------------------------------------------------------------------------


def _number(x: Number) -> Any:
    return x.item() if isinstance(x, (TensorRef, np.generic)) else x


@op("arange(Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None, Any layout=None, Any device=None, bool? pin_memory=False, "
    "bool? requires_grad=False) -> Tensor", method=False)
class arange:
    """The numbers from `start` (0 where left out) to before `end`, `step` apart: int64 where all are integers, else the default dtype.

    >>> torch.arange(3), torch.arange(1, 2, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """

    def make(F: Functions, ns: object, general: Irregular | Fn) -> Fn:
        Tensor, new, int64 = F.Tensor, object.__new__, INT64_KIND.dtype

        def arange(start=None, end=None, step=1, *, dtype=None, device=None, requires_grad=False, out=None, layout=None, pin_memory=False):
            if start.__class__ is int and end is None and step.__class__ is int and (dtype is None or dtype is int64) and out is None \
                    and not requires_grad and start >= 0 and layout is None and INT64_KIND in ns["Q_ALL"] and (
                        F.default_device is None if device is None else device is CPU):
                t = new(Tensor)
                t._data, t._k, t._node, t._v, t._base = np.arange(start), INT64_KIND, None, None, None
                return t
            first, last = (0, start) if end is None else (start, end)
            classes = first.__class__, last.__class__, step.__class__
            if out is None and layout is None and not requires_grad and _NUMBERS.issuperset(classes):
                whole = float not in classes
                k = _kind_of(F, int64 if whole and dtype is None else dtype, device)
                if k in ns["Q_FLOAT"] and step and 0 <= (n := (last - first) / step) < _SHORT:
                    t = new(Tensor)
                    t._data, t._k = _apart(float(first), float(step), math.ceil(n), k.np), k
                    t._node = t._v = t._base = None
                    return t
                if whole and k is INT64_KIND and k in ns["Q_ALL"] and step and (last - first) * step >= 0 and (
                        -_WIDE < first < _WIDE and -_WIDE < last < _WIDE and -_WIDE < step < _WIDE):
                    t = new(Tensor)
                    t._data, t._k, t._node, t._v, t._base = np.arange(first, last, step), k, None, None, None
                    return t
            return general((start, end, step, dtype, device, requires_grad, layout, pin_memory), out)

        return arange

    def function(F, start=None, end=None, step=1, *, dtype=None, device=None, requires_grad=False, out=None, layout=None, pin_memory=False):
        return _arange(F, start, end, step, dtype, device, requires_grad, out, layout)

    def samples(rng):
        yield (5,)
        yield 1, 2, 0.3
        yield 7, 1, -2

    def errors(rng):
        yield (0, 5, 0), RuntimeError, "step must be nonzero"
        yield (0, 5, -1), RuntimeError, "upper bound and lower bound inconsistent with step sign"


_DEPRECATED = ("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
               "builtin. Instead, use torch.arange, which produces values in [start, end).")


@op("range(Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None, Any layout=None, Any device=None, bool? pin_memory=False, "
    "bool requires_grad=False) -> Tensor", method=False)
class range_:
    """The numbers from `start` to `end`, which is among them, `step` apart, in the default dtype: deprecated for `arange`.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> torch.range(1, 2, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """

    def fresh(k, start, end, step):
        if k.np.char in "fd" and _NUMBERS.issuperset([start.__class__, end.__class__, step.__class__]) and step and (
                start <= end if step > 0 else end <= start) and (n := (end - start) / step) < _LARGEST:
            warned.warn(_DEPRECATED)
            return _evenly(start, step, int(n + 1), k.np)

    def function(F, start, end, step=1, *, dtype=None, device=None, requires_grad=False, out=None, layout=None, pin_memory=False):
        warned.warn(_DEPRECATED)
        start, end, step = _number(start), _number(end), _number(step)
        wanted = out._k.dtype if dtype is None and out is not None else _dtype(dtype)
        if wanted.category == BOOL or wanted.is_complex or wanted.group:
            raise UnsupportedDTypeError(f"\"range_cpu\" not implemented for '{wanted.scalar}'")
        _check_steps(start, end, step)
        if wanted.category < FLOATING:
            start, end, step = int(start), int(end), int(step)
        n = int((end - start) / step + 1)
        values = _whole(start, step, n).astype(wanted.np, copy=False) if wanted.category < FLOATING else _evenly(start, step, n, wanted.np)
        return finish(F, _shaped(values, out), device, requires_grad, out, layout)

    def samples(rng):
        yield 0, 3
        yield 2, -1, -0.5

    def errors(rng):
        yield (0, 5, 0), RuntimeError, "step must be nonzero"
        yield (0, 5, -1), RuntimeError, "upper bound and lower bound inconsistent with step sign"


def _check_steps(start: float, end: float, step: float) -> None:
    """Raises torch's error where no steps lead from `start` to `end`."""
    if step == 0:
        raise AutogradError("step must be nonzero", expected="a step other than 0", found="0")
    if not all([math.isfinite(float(x)) for x in (start, end)]):
        raise AutogradError(f"unsupported range: {start} -> {end}")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise AutogradError("upper bound and lower bound inconsistent with step sign", expected="an end that steps lead to",
                            found=f"{start} to {end} by {step}")


def _refuse(dtype: DType, kernel: str) -> None:
    """Raises torch's error where a kernel that fills new tensors does not take a dtype."""
    if dtype.group and (kernel != "eye" or dtype.group != "float8"):
        raise MissingKernelError(f"\"{kernel}\" not implemented for '{dtype.scalar}'", remedy="make it in another dtype and convert it")


def _arange(F: Functions, start: float, end: float | None, step: float, dtype: Any, device: str | Device | None, requires_grad: bool,
            out: Any, layout: object) -> TensorRef:
    if start is None and end is None:
        raise ArgumentError("arange() received an invalid combination of arguments - got (), but expected one of:\n * (Number end, ...)\n"
                            " * (Number start, Number end, ...)\n * (Number start, Number end, Number step, ...)")
    if end is None or start is None:
        start, end = 0, start if end is None else end
    start, end, step = _number(start), _number(end), _number(step)
    for value in (start, end, step):
        if not isinstance(value, (int, float)):
            raise ArgumentError(f"arange(): argument 'end' (position 1) must be Number, not {type(value).__name__}", expected="a number",
                                found=type(value).__name__)
    _check_steps(start, end, step)
    floating = any([isinstance(x, float) for x in (start, end, step)])
    wanted = out._k.dtype if dtype is None and out is not None else _dtype(dtype) if dtype is not None else \
        default_dtype() if floating else INT64_KIND.dtype
    if wanted.category == BOOL or wanted.is_complex or wanted.group:
        raise UnsupportedDTypeError(f"\"arange_cpu\" not implemented for '{SCALAR_TYPE_NAMES[wanted.name]}'")
    n = None
    if wanted.category < FLOATING:
        if floating and wanted is not INT64_KIND.dtype and int(step):  # whose length alone torch takes from the truncated numbers
            n = math.ceil((end - start) / step)
        start, end, step, floating = int(start), int(end), int(step), False
        if step == 0:
            raise ValueError("step must be nonzero")
    if n is None:
        n = -(-(end - start) // step) if not floating else math.ceil((end - start) / step)
    if out is not None:
        emptied(out, int(n))
    values = (_whole(int(start), int(step), int(n)) if wanted.category < FLOATING else
              _apart(float(start), float(step), int(n), wanted.np))
    return finish(F, _shaped(values.astype(wanted.np, copy=False), out), device, requires_grad, out, layout)


def _whole(start: int, step: int, n: int) -> np.ndarray:
    """`n` integers, `step` apart."""
    if max(abs(start), abs(start + n * step)) < 2 ** 62:
        return np.arange(start, start + n * step, step)
    return np.arange(n) * step + start


_aparts, _lines = Exact("arithmetic", "apart"), Exact("arithmetic", "line")
_MANY, _MOST = 2 ** 30, 2 ** 31  # lanes of which nothing is a pair, and numbers that are few enough for the kernels


def _evenly(start: float, step: float, n: int, dtype: np.dtype) -> np.ndarray:
    """`n` numbers, `step` apart, each computed in double precision."""
    if dtype.char in "fd" and n < _MOST and abs(start) + n * abs(step) < 2 ** 53 and (run := _aparts.over(dtype.char, n)) is not None:
        made = np.empty(n, dtype)
        run(n, 1, float(start), float(step), _MANY, made)
        return made
    return (np.arange(n) * step + start).astype(dtype, copy=False)


def _apart(start: float, step: float, n: int, dtype: np.dtype) -> np.ndarray:
    """`n` numbers, `step` apart, computed in double precision. Narrower ones as torch does with vectors of 32 bytes, two at a time: each is
    so many steps from the first, rounded, of its vector."""
    if step == 1.0 and n >= 4096 and dtype.char == "f" and start.is_integer() and abs(start) + n <= ALL_SINGLE:  # none of which is rounded
        return counted(np.empty(n, dtype), int(start))
    if dtype.char in "fd" and n < _MOST and (run := _aparts.over(dtype.char, n)) is not None:
        made = np.empty(n, dtype)
        run(n, 1, start, step, 8 if dtype.itemsize == 4 else _MANY, made)
        return made
    if dtype.itemsize == 8:
        return np.arange(n) * step + start
    if n < 16 and dtype.itemsize == 4:
        return (np.arange(n) * step + start).astype(dtype)
    lanes = 32 // dtype.itemsize
    whole = n // (2 * lanes) * 2 * lanes
    values = np.empty(n, dtype if dtype.isbuiltin == 1 else np.float64)
    np.copyto(values[whole:], np.arange(whole, n) * step + start, "unsafe")
    if whole:
        first = (np.arange(0, whole, lanes) * step + start).astype(dtype).astype(np.float64)
        for i in range(lanes):
            np.add(first, i * step, values[i:whole:lanes], casting="unsafe")
    return values


_BLOCK, ALL_SINGLE = 8192, 2 ** 24  # numbers that stay in the cache, and integers of which float32 holds each


def counted(made: np.ndarray, first: int = 0, factor: float = 1.0) -> np.ndarray:
    """Fills a row of at most `ALL_SINGLE` float32 numbers with the integers from `first` on, times `factor`. NumPy's `arange` counts one
    number at a time; blocks are added to in vectors."""
    block = _counted_block()
    for start in range(0, made.size, _BLOCK):
        part, at = made[start : start + _BLOCK], first + start
        given = block[: part.size]
        if at or factor == 1.0:
            given = np.add(given, np.float32(at), part)
        if factor != 1.0:
            np.multiply(given, np.float32(factor), part)
    return made


@lru_cache(1)
def _counted_block() -> np.ndarray:
    return np.arange(_BLOCK, dtype=np.float32)


def emptied(out: TensorRef, n: int) -> None:
    """Warns where the target of `n` numbers in a row has others, as torch does for `arange` and what it makes of it."""
    if out._data.size not in (0, n):
        warned.warn(f"The number of elements in the out tensor of shape {list(out.shape)} is {out._data.size} which does not match the "
                    f"computed number of elements {n}. Note that this may occur as a result of rounding error. The out tensor will be "
                    f"resized to a tensor of shape ({n},).", UserWarning)
        out.resize_(0)  # type: ignore[attr-defined]  # a method by its record


_DOUBLE, _SHORT, _FEW = np.dtype(np.float64), 4096, 2048
_WIDE = 2 ** 61  # up to which nothing overflows


@lru_cache(64)
def _kept_ramp(steps: int, dtype: np.dtype) -> np.ndarray:
    return _ramp(steps, dtype)


def _ramp(steps: int, dtype: np.dtype) -> np.ndarray:
    """How many steps each of so many numbers is away from the first, or in the second half, below zero, from the last; to be read, not
    written."""
    half = steps // 2
    return np.concatenate((np.arange(half, dtype=dtype), -np.arange(steps - half, dtype=dtype)[::-1]))


def _line(start: float, end: float, steps: int, dtype: np.dtype) -> np.ndarray:
    """`steps` numbers from `start` to `end`, computed from both ends towards the middle, as torch does."""
    if steps == 1:
        return np.full(1, start, dtype)
    if dtype.kind in "iu":
        start, end = int(start), int(end)
        width = (float(end) - float(start)) / (steps - 1)
        at = np.arange(steps)
        line = np.where(at < steps // 2, start + np.longdouble(width) * at, end - np.longdouble(width) * (steps - at - 1))
        return line.astype(np.float64).astype(dtype)  # rounded once, as by torch's fused products
    real = np.dtype(np.float32 if dtype.itemsize == 2 else dtype)
    cast = real.type
    first, last, half = cast(start), cast(end), steps // 2
    step = (last - first) / cast(steps - 1)
    if steps < _MOST and (run := _lines.over(real.char, steps)) is not None:
        line = np.empty(steps, real)
        run(steps, 1, float(first), float(last), float(step), half, line)
        return line if real is dtype else line.astype(dtype, copy=False)
    line = (_kept_ramp if steps < _SHORT else _ramp)(steps, real) * np.asarray(step)  # arrays of no dimension cost less than numbers
    part, rest = line[:half], line[half:]
    np.add(part, np.asarray(first), part)
    np.add(rest, np.asarray(last), rest)
    return line if real is dtype else line.astype(dtype, copy=False)


_kept_line = lru_cache(64, typed=True)(_line)


def _powers(start: float, end: float, steps: int, base: float, dtype: np.dtype) -> np.ndarray:
    """Powers of a number by those of a line."""
    return np.power(float(base), _line(start, end, steps, _DOUBLE)).astype(dtype, copy=False)


_kept_powers = lru_cache(64, typed=True)(_powers)


def _tells(number: float) -> bool:
    """Whether what is equal to a number, and of its type, is that number: zeros have two signs."""
    return number != 0 or number.__class__ is int


def _is_line(k: Kind, start: object, end: object, steps: int) -> bool:
    """Whether these are the bounds of a line as nearly all are."""
    return start.__class__ in _NUMBERS and end.__class__ in _NUMBERS and k in KIND_SETS["Q_FLOAT"] and (
        steps.__class__ is int and steps > 1)


_PARTS = {"complex32": "c10::Half", "complex64": "float", "complex128": "double"}
_LINE = ("{} start, {} end, int steps{}, *, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device "
         "= None, "
         "bool pin_memory = False, bool requires_grad = False")


def _line_arguments(name: str, start: float, end: int, steps: int, dtype: Any, out: Any) -> tuple[float, int, int, DType]:
    if not isinstance(_number(steps), int):
        raise no_match(name, [_LINE.format(a, b, ", float base = 10.0" if name == "logspace" else "") for b in ("Tensor", "Number")
                              for a in ("Tensor", "Number")], (start, end, steps))
    ranks = [x.ndim if isinstance(x, TensorRef) else 0 for x in (start, end)]
    if any(ranks):
        raise AutogradError(f"{name} only supports 0-dimensional start and end tensors, but got start with {ranks[0]} dimension(s) and "
                            f"end with "
                            f"{ranks[1]} dimension(s).")
    start, end, steps = _number(start), _number(end), int(_number(steps))
    if steps < 0:
        raise AutogradError("number of steps must be non-negative", expected="0 or more", found=str(steps))
    complex_ = isinstance(start, complex) or isinstance(end, complex)
    if dtype is None:
        found = out._k.dtype if out is not None else default_dtype().to_complex() if complex_ else default_dtype()
    else:
        found = _dtype(dtype)
    if complex_ and not found.is_complex:
        if dtype is None:
            check_number(start if isinstance(start, complex) else end, found)
        raise AutogradError(f"torch.{name}(): inferred dtype c10::complex<{_PARTS[default_dtype().to_complex().name]}> "
                            f"can't be safely cast to passed dtype {found.scalar}", remedy="ask for a complex dtype")
    if found.name == "bool":
        raise UnsupportedDTypeError(f"\"{name}_cpu\" not implemented for 'Bool'", remedy="pass another dtype")
    return start, end, steps, found


@op(f"linspace(Scalar start, Scalar end, int steps, {_OPTIONS}) -> Tensor", method=False)
class linspace:
    """`steps` numbers from `start` to `end`, evenly apart.

    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """

    several_types = ("steps",)
    def fresh(k, start, end, steps):
        if _is_line(k, start, end, steps):
            return (_kept_line(start, end, steps, k.np).copy() if steps < _SHORT and _tells(start) and _tells(end) else
                    _line(start, end, steps, k.np))

    def function(F, start, end, steps, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        start, end, steps, wanted = _line_arguments("linspace", start, end, steps, dtype, out)
        _refuse(wanted, "linspace_cpu")
        return finish(F, _shaped(_line(start, end, steps, wanted.np), out), device, requires_grad, out, layout)

    def samples(rng):
        yield 0, 1, 7
        yield 2.5, -1, 4

    def errors(rng): yield (0, 1, -1), RuntimeError, "number of steps must be non-negative"


@op(f"logspace(Scalar start, Scalar end, int steps, float base=10.0, {_OPTIONS}) -> Tensor", method=False)
class logspace:
    """`base` to the power of `steps` numbers from `start` to `end`.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """

    several_types = ("steps",)
    def fresh(k, start, end, steps, base):
        if _is_line(k, start, end, steps) and base.__class__ in _NUMBERS:
            return (_kept_powers(start, end, steps, base, k.np).copy() if steps < _SHORT and _tells(start) and _tells(end) and base else
                    _powers(start, end, steps, base, k.np))

    def function(F, start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        start, end, steps, wanted = _line_arguments("logspace", start, end, steps, dtype, out)
        _refuse(wanted, "logspace_cpu")
        if wanted.category < FLOATING:  # the bounds are numbers of the dtype
            start, end = int(start), int(end)
        exponents = _line(start, end, steps, np.dtype(np.complex128 if wanted.is_complex else np.float64))
        return finish(F, _shaped(np.power(float(base), exponents).astype(wanted.np), out), device, requires_grad, out, layout)

    def samples(rng):
        yield 0, 2, 5
        yield 0, 3, 4, 2.0

    def errors(rng): yield (0, 1, -1), RuntimeError, "number of steps must be non-negative"


# -- patterns ------------------------------------------------------------------------------------------------------------------------


@op(f"eye(int n, int? m=None, {_OPTIONS}) -> Tensor", method=False)
class eye:
    """Ones on the diagonal of an n by m matrix, zeros elsewhere.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """

    def fresh(k, n, m):
        m = n if m is None else m
        if n.__class__ is not int or m.__class__ is not int:
            return None
        matrix = np.zeros((n, m), k.np)
        matrix.reshape(-1)[:m * m:m + 1] = 1
        return matrix

    def function(F, n, m=None, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        m = n if m is None else m
        for name, size in (("n", n), ("m", m)):
            if size < 0:
                raise AutogradError(f"{name} must be greater or equal to 0, got {size}", expected="0 or more", found=str(size))
        wanted = out._k.dtype if dtype is None and out is not None else _dtype(dtype)
        _refuse(wanted, "eye")
        matrix = np.zeros((n, m), wanted.np)
        matrix.reshape(-1)[:m * m:m + 1] = 1
        return finish(F, matrix, device, requires_grad, out, layout)

    def samples(rng):
        yield (3,)
        yield 2, 3

    def errors(rng): yield (-1,), RuntimeError, "n must be greater or equal to 0, got -1"


def _triangle_indices(name: str, lower: bool) -> tuple[Fn, Fn]:
    """The fields `fresh` and `function`."""
    def fresh(k: Kind, row: int, col: int, offset: int) -> np.ndarray | None:
        if k.np.char not in "li" or (kept := _triangle(lower, row, col, offset)) is None:
            return None
        made = kept.copy() if kept.__class__ is _ndarray else _indices(lower, row, col, offset)
        return made if made.dtype is k.np else made.astype(k.np)

    def function(F: Functions, row: int, col: int, offset: int = 0, *, dtype: Any = None, layout: object = None,
                 device: Device | None = None, pin_memory: bool = False) -> TensorRef:
        for what, n in (("row", row), ("col", col)):
            if n < 0:
                raise AutogradError(f"{what} must be non-negative, got{n}", expected="0 or more", found=str(n))
        wanted = None if dtype is None else _dtype(dtype)
        if wanted is not None and wanted.name not in ("int32", "int64"):
            raise UnsupportedDTypeError(f"\"{name}\" not implemented for '{SCALAR_TYPE_NAMES[wanted.name]}'", remedy="ask for int64")
        made = _indices(lower, row, col, offset)
        return finish(F, made if wanted is None else made.astype(wanted.np, copy=False), device, False, None, layout)

    return fresh, function


@lru_cache(_KEPT, typed=True)
def _triangle(lower: bool, row: int, col: int, offset: int) -> np.ndarray | str | None:
    """The indices, if they are few; None of what is refused or very large."""
    _hold_integers((row, col, offset))
    if min(row, col) < 0 or max(row, col, abs(offset)) >= _MOST:
        return None
    return _indices(lower, row, col, offset) if row * col <= _SHORT else "many"


_triangles = Exact("arithmetic", "triangle")


def _indices(lower: bool, row: int, col: int, offset: int) -> np.ndarray:
    """Rows and columns of the elements of a triangle."""
    # Rows from `start` to `stop` have some elements; behind them, or in front, all rows are whole.
    start, stop = (-offset, col - offset - 1) if lower else (1 - offset, col - offset)
    start = min(max(start, 0), row)
    stop = min(max(stop, start), row)
    whole = range(stop, row) if lower else range(start)
    ends = (start + offset + 1, stop + offset) if lower else (col - offset - start, col - offset - stop + 1)
    total, many = (stop - start) * sum(ends) // 2, len(whole) * col
    indices = np.empty((2, total + many), np.int64)
    if max(row, col, abs(offset)) < _MOST and (run := _triangles.over("l", total + many)) is not None:
        run(row, 1, int(lower), row, col, offset, indices)
        return indices
    some = np.arange(start, stop)
    counts = some + (offset + 1) if lower else col - offset - some
    block, rest = (indices[:, total:], indices[:, :total]) if lower else (indices[:, :many], indices[:, many:])
    block = block.reshape(2, len(whole), col)
    rows = np.arange(whole.start, whole.stop)
    if col < 16:  # long columns sooner than short rows
        for i in range(col):
            block[0, :, i], block[1, :, i] = rows, i
    else:
        block[0], block[1] = rows[:, None], np.arange(col)
    rest[0] = some.repeat(counts)
    first = counts - counts.cumsum() + (0 if lower else some + offset)
    np.add(np.arange(total), first.repeat(counts), rest[1])
    return indices


@op("tril_indices(int row, int col, int offset=0, *, dtype? dtype=None, Any device=None) -> Tensor", result="int64", method=False,
    out=False)
class tril_indices:
    """Rows and columns of the elements of a lower triangle.

    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """

    fresh, function = _triangle_indices("tril_indices", True)
    def samples(rng): yield 3, 4, 1


@op("triu_indices(int row, int col, int offset=0, *, dtype? dtype=None, Any device=None) -> Tensor", result="int64", method=False,
    out=False)
class triu_indices:
    """Rows and columns of the elements of an upper triangle.

    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """

    fresh, function = _triangle_indices("triu_indices", False)
    def samples(rng): yield 3, 4, 1


def _check_classes(input: TensorRef) -> None:
    if input._k is not INT64_KIND and input._k.dtype.name != "int64":
        raise AutogradError("one_hot is only applicable to index tensor of type LongTensor.", expected="int64", found=input._k.dtype.name,
                            remedy="convert it with .long()")


@lru_cache(64)
def _kept_steps(n: int, step: int) -> np.ndarray:
    return np.arange(0, n * step, step)


def _steps(n: int, step: int) -> np.ndarray:
    """The first `n` multiples of a number, to be read, not written."""
    return _kept_steps(n, step) if n < _SHORT else np.arange(0, n * step, step)


@op("one_hot(Index input, int num_classes=-1) -> Tensor", method=False, out=False, namespace="nn.functional",
    alias="nn.functional.one_hot")
class one_hot:
    """A row for each class number, 1 at the class and 0 elsewhere.

    >>> torch.nn.functional.one_hot(torch.tensor([1, 0]))
    tensor([[0, 1],
            [1, 0]])
    """

    home = "_C._nn"
    words = {"tensor": "input"}

    def quick(input, num_classes):
        if input.dtype.char != "l" or not input.size or not input.flags.c_contiguous:
            return None
        most = int(np.maximum.reduce(input.view(np.uint64), None))  # what is below zero is large there
        if num_classes == -1:
            num_classes = most + 1
        if most >= num_classes or num_classes * input.size > _LARGEST:
            return None
        result = np.zeros((*input.shape, num_classes), np.int64)
        result.reshape(-1)[input.reshape(-1) + _steps(input.size, num_classes)] = 1
        return result

    def function(F, input, num_classes=-1):
        _check_classes(input)
        if on_meta(input) and num_classes < 0:
            raise AutogradError(NO_ITEM)
        data = values_of(input) if num_classes >= 0 else need_values(input)
        if not data.size and num_classes <= 0:
            raise AutogradError("Can not infer total number of classes from empty tensor.")
        flat = data.reshape(-1)
        if data.size and np.minimum.reduce(flat) < 0:
            raise AutogradError("Class values must be non-negative.")
        most = int(np.maximum.reduce(flat)) if data.size else -1
        if num_classes == -1:
            num_classes = most + 1
        elif num_classes < 1:
            raise AutogradError("num_classes should be positive")
        if most >= num_classes:
            raise AutogradError("Class values must be smaller than num_classes.")
        result = np.zeros((*data.shape, num_classes), np.int64)
        result.reshape(-1)[flat + _steps(data.size, num_classes)] = 1
        return constant(F, input, result)

    def batch(F, call):
        """As many classes for all examples."""
        _check_classes(call.input)
        if call.num_classes == -1:
            raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.")
        return call()

    def samples(rng):
        yield (rng.integers(0, 3, (2, 2)),)
        yield rng.integers(0, 3, 4), 5

    def errors(rng):
        yield (np.array([-1, 0]),), RuntimeError, "Class values must be non-negative."
        yield (np.array([5]), 3), RuntimeError, "Class values must be smaller than num_classes."
