"""The general path of an operation: argument checks, overrides, modes, promotion, devices, executors, `out=`, in-place updates,
recording. Everything the quiet path leaves out is here, once for all operations.
"""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Sequence

import numpy as np

from ..annotations import Arguments, Fn, Keywords
from .. import modes, warned
from ..calls import HERE, TO_REGULAR, Door, Parameter
from ..codegen import execute
from ..dims import broadcast_shape
from ..dtypes import (
    COMPLEX, CPU_KINDS, FLOATING, INTEGER, SCALAR_TYPE_NAMES, DType, Device, Kind, converted, default_dtype, dtype_of, inference_kind,
    kind, result_dtype, write_numbers,
)
from ..errors import ArgumentError, AutogradError, type_name
from ..held import held_in, hold, note_size, note_write, within
from ..modes import UNDONE, GradMode, active_tapes, grad_mode, in_loop, keep_on_tapes, noting, recordings, unrecorded
from ..node import TapeEntry
from ..ops._host import data_dependent
from ..ops._samples import check_number
from ..record import Param, Record
from ..strided import copy_like, laid_out
from ..tensor import BUFFERS, LEAF, TensorRef, above, as_dtype, next_id
from ..version import Version
from ..views import check_apart, check_single
from .common import BROUGHT, common_of
from .entries import entry_of
from .layout import layout_operands
from .namespace import HALF_KINDS, KIND_SETS, STUMBLES
from .nodes import coded_class, node_class
from .out import check_outs, without_out
from .overloads import check_overloads, match_deprecated, no_match_of, warn_deprecated
from .refusals import check_elements, grad_refusal, on_meta, wants_grad

if TYPE_CHECKING:
    from ..frontend import Frontend

_modules = sys.modules  # asked whether there can be a loop, which costs less than to call `in_loop`
_HALVES = ("float16", "bfloat16")
_INTEGERS, _COMPLEX = KIND_SETS["Q_INTEGER"], KIND_SETS["Q_COMPLEX"]
_ENABLED = GradMode.ENABLED  # whose class takes its time to look it up


def _never(*args: object) -> bool:
    return False


def _kept(args: tuple[object, ...]) -> Arguments:
    """Arguments of a regular operation as they are now: its lists, of tensors or numbers, may change."""
    return tuple([a[:] if a.__class__ is list else a for a in args])


def shape_of(x: Any) -> Any:
    """The shape that formulas see of an argument: of a list one each, () of a number."""
    if isinstance(x, (tuple, list)):
        return [shape_of(t) for t in x]
    return x._data.shape if isinstance(x, TensorRef) else None if x is None else np.shape(x)


def _is_int(value: object) -> bool:
    if isinstance(value, (int, np.integer)):
        return not isinstance(value, bool)
    if isinstance(value, TensorRef):
        return value.ndim == 0 and value.dtype.category <= INTEGER
    return False


def _check(frontend: Frontend, rec: Record, p: Param, position: int, value: Any, name: str) -> Any:
    """`value` as parameter `p` of the operation called `name` takes it; ArgumentError in PyTorch's words where it does not fit."""
    want = p.type
    if value is None:
        if want.endswith("?") or want == "Any" or p.default == "None":
            return None
    elif p.is_tensor:
        if want == "Tensor[]":
            if isinstance(value, (tuple, list)):
                check_elements(value, position)
                return value
        elif isinstance(value, TensorRef) or want == "Operand" and isinstance(value, (int, float, complex, np.generic)):
            return value.item() if isinstance(value, np.generic) else value
    else:
        base = want.removesuffix("?")
        if base == "int" and _is_int(value):
            return operator.index(value.item() if isinstance(value, TensorRef) else value)
        if base == "float" and isinstance(value, (int, float, np.generic)) and not isinstance(value, (np.complexfloating,)):
            return float(value)  # type: ignore[arg-type]  # complex NumPy numbers are excluded
        if base in ("Scalar", "float") and isinstance(value, (int, float, complex, np.generic)):
            return value.item() if isinstance(value, np.generic) else value
        if base in ("Scalar", "float") and isinstance(value, TensorRef) and value.ndim == 0 and (
                value._node is None or frontend.numbers_with_history):
            return value.item()
        if base.startswith("int["):
            if _is_int(value):
                return operator.index(value.item() if isinstance(value, TensorRef) else value)
            if isinstance(value, (tuple, list)) and all(_is_int(v) for v in value):
                return tuple([operator.index(v.item() if isinstance(v, TensorRef) else v) for v in value])
        if base == "bool" and isinstance(value, (bool, np.bool_)):
            return bool(value)
        if base == "str" and isinstance(value, str):
            return value
        if base == "dtype":
            if isinstance(value, DType):
                return value
            if frontend.dtype_names or is_dtype(value):
                return as_dtype(value)
        if base in ("Any", "Generator", "device", "memory_format") or base.endswith("[]"):
            return value
    raise refusal(name, p, position, value)


def refusal(name: str, p: Param, position: int, value: object) -> ArgumentError:
    """torch's error for an argument of another type."""
    want = p.type
    wanted = {"Operand": "Tensor", "Index": "Tensor", "Mask": "Tensor", "Tensor[]": "tuple of Tensors", "Scalar": "Number",
              "dtype": "torch.dtype", "device": "torch.device"}.get(want.removesuffix("?"), want.removesuffix("?"))
    if wanted.startswith("int["):
        wanted = "tuple of ints"
    where = f" (position {position})" if not p.keyword_only else ""
    return ArgumentError(f"{name}(): argument '{p.name}'{where} must be {wanted}, not {type_name(value)}",
                        expected=wanted, found=type_name(value), remedy=f"pass {p.name} as {wanted}")


_UNTYPED = frozenset(["size_average", "reduce", "return_indices", "_stacklevel", "get_infos", "include_last_offset", "norm_type"])
"""What torch's functions written in Python take as it comes."""


_PYTHON_DTYPES = frozenset([float, int, bool, complex])


def is_dtype(value: object) -> bool:
    """Whether torch takes the value for a dtype: its own, and Python's types of numbers.

    >>> is_dtype(float), is_dtype("float32")
    (True, False)
    """
    return isinstance(value, DType) or isinstance(value, type) and value in _PYTHON_DTYPES


def fits(p: Param, value: object, dtype_names: bool = True) -> bool:
    """Whether parameter `p` of an irregular operation takes values of this type; whatever it does not say for certain, it does.

    >>> fits(Param("keepdim", "bool", "False"), None), fits(Param("dim", "int?"), None), fits(Param("dim", "int"), (0, 1))
    (False, True, False)
    """
    base = p.type.removesuffix("?")
    if p.name in _UNTYPED:
        return True
    if value is None:
        return p.type.endswith("?") or p.default == "None" or base not in ("bool", "int", "float", "Scalar", "Tensor", "Tensor[]", "str")
    if base in ("Tensor", "Index"):
        return isinstance(value, TensorRef) or hasattr(value, "__torch_function__")
    if base == "Tensor[]":
        return isinstance(value, (tuple, list))
    if base == "bool":
        return isinstance(value, (bool, np.bool_))
    if base == "int":
        return _is_int(value)
    if base.startswith("int["):
        return _is_int(value) or isinstance(value, (tuple, list))
    if base in ("float", "Scalar"):
        return isinstance(value, (int, float, np.generic, TensorRef)) or base == "Scalar" and isinstance(value, complex)
    if base == "dtype":
        return dtype_names or is_dtype(value)
    if base == "device":
        return dtype_names or isinstance(value, (str, int, Device))
    return base != "str" or isinstance(value, str)


def check_fit(rec: Record, values: Keywords, optional: frozenset[str], dtype_names: bool = True) -> None:
    """Raises torch's error for the first argument of an irregular operation whose type does not fit the schema. Those that are `optional`
    may be None; `dtype_names` says whether dtypes are taken by name."""
    free = rec.field("several_types") or ()
    for i, p in enumerate(rec.params):
        if p.type == "Tensor[]" and isinstance(tensors := values.get(p.name), (tuple, list)):
            single = p.name in free and len(tensors) == 1 and isinstance(tensors[0], (tuple, list))
            check_elements(tensors[0] if single else tensors, i + 1)
        if p.name not in values or p.name in free or values[p.name] is None and p.name in optional:
            continue
        if not fits(p, values[p.name], dtype_names):
            raise refusal(rec.name, p, i + 1, values[p.name])


QUICK_FIT = {"bool": "{0}.__class__ is bool", "int": "{0}.__class__ is int", "float": "{0}.__class__ in _REALS",
             "Scalar": "{0}.__class__ in _REALS", "int[]": "{0}.__class__ is not bool and {0}.__class__ is not float",
             "Tensor[]": "({0}.__class__ is list or {0}.__class__ is tuple)", "dtype": "{0}.__class__ is _DType",
             "str": "{0}.__class__ is str", "Tensor": "isinstance({0}, _TensorRef)"}
"""Source of the tests for the usual types of arguments, of those that Python would take for another without a word."""


_IS_TENSOR = "isinstance({0}, TensorRef)"
_AS_IT_IS = {"Tensor": _IS_TENSOR, "Index": _IS_TENSOR, "Mask": _IS_TENSOR, "Operand": f"({_IS_TENSOR} or {{0}}.__class__ in NUMBERS)",
             "Tensor[]": "{0}.__class__ in LISTS and not [_x for _x in {0} if not isinstance(_x, TensorRef)]",
             "Scalar": "{0}.__class__ in NUMBERS", "bool": "{0}.__class__ is bool", "int": "{0}.__class__ is int",
             "float": "{0}.__class__ is float", "str": "{0}.__class__ is str", "Any": "True", "dtype": "{0}.__class__ is DType",
             "Generator": "True", "device": "True", "memory_format": "True",
             "int[]": "({0}.__class__ is int or {0}.__class__ is tuple and not [_i for _i in {0} if _i.__class__ is not int])"}
"""Source of the tests for arguments that `_check` would give back as they are."""
Reader = Callable[..., "tuple[dict[str, Any], list[TensorRef]] | None"]


READING = {"TensorRef": TensorRef, "DType": DType, "NUMBERS": frozenset([bool, int, float, complex]), "LISTS": frozenset([list, tuple])}
"""What the source of `reading` calls by name."""


def reading(rec: Record) -> tuple[str, str]:
    """(source of the test that `_check` has nothing to do for the arguments of an operation, of the list of tensors among them)."""
    tests, tensors = [], []
    for p in rec.params:
        base, optional = p.type.removesuffix("?"), p.type.endswith("?") or p.default == "None"
        test = _AS_IT_IS.get(base, "False").format(p.name)
        tests.append(f"({p.name} is None or {test})" if optional else test)
        if p.is_tensor:
            tensors.append(f"*({p.name} or ())" if base == "Tensor[]" else
                           f"*(({p.name},) if {_IS_TENSOR.format(p.name)} else ())" if optional or base == "Operand" else p.name)
    return " and ".join([t for t in tests if t != "True"]) or "True", f"[{', '.join(tensors)}]"


def _reader(rec: Record) -> Reader:
    """A function of an operation's arguments: (those by name, the tensors among them) where `_check` has nothing to do, else None."""
    names = [p.name for p in rec.params]
    test, tensors = reading(rec)
    given = f"{{{', '.join([f'{n!r}: {n}' for n in names])}}}"
    text = f"def read({', '.join(names)}): return ({given}, {tensors}) if {test} else None\n"
    reader: Reader = execute(text, "read", f"<{rec.name}: arguments>", dict(READING))
    return reader


def half_operand(rec: Record) -> Param | None:
    """The parameter whose kind tells whether a call is one of half precision, which has a quiet path of its own; None where there is no
    such path."""
    if rec.quiet == "none" or rec.returns_list or rec.field("numpy") is None:
        return None
    return next((p for p in rec.tensor_params if p.type in ("Tensor", "Operand", "Tensor[]")), None)


def takes_integers(rec: Record) -> bool:
    """Whether there is an entrance for integers and truth values: of element-wise operations whose quiet path is for floating-point
    numbers, and of those of one tensor that compute in such."""
    return (rec.quiet in ("float", "numbers") and rec.elementwise and rec.field("numpy") is not None and half_operand(rec) is not None
            and rec.params[0].type in ("Tensor", "Operand") and len(rec.returns) == 1 and not rec.saved_returns and not rec.returns_list
            and rec.result in ("same", "numpy", "bool") and rec.field("itself") is None
            and (rec.promotion == "promote" or len(rec.tensor_params) == 1 or rec.result == "bool"))


def takes_complex(rec: Record, inplace: bool = False) -> bool:
    """Whether there is an entrance for complex numbers: of operations of one result that have a gradient for them, if any at all."""
    return (rec.quiet != "none" and not rec.field("random") and not rec.refuses_complex and rec.complex != "no gradient"
            and rec.field("numpy") is not None and half_operand(rec) is rec.params[0] and rec.params[0].type in ("Tensor", "Operand")
            and len(rec.returns) == 1 and not rec.saved_returns and not rec.returns_list and rec.field("itself") is None
            and rec.family not in ("view", "view?") and not any([p.type == "str" for p in rec.params])
            and rec.result in (("same",) if inplace else ("same", "numpy", "bool")))


class General(Door):
    """The general path of one operation for one front end.

    Attributes:
        shown: what who carries out calls elsewhere made to do so at once, of the operation and of its variant in place.
        leads: whether there are calls that another operation carries out; see `leads_elsewhere`.
        refuses_grad: the record's field.
    """

    def __init__(self, rec: Record, frontend: Frontend, method: bool = False) -> None:
        super().__init__(rec, frontend)
        self.method = method
        self.params = [Parameter(p.name, p.keyword_only, ... if p.default is None else rec.defaults[p.name]) for p in rec.params]
        self._makers: list[Fn | None] = [None, None]  # of entries, and those of the variant in place
        self.shown: list[Any] = [None, None]
        self._half: Any = None  # the entrance for half precision
        self._half_in_place: Any = None  # and that of the variant in place
        self.half: Any = None  # and the one before the door
        self._integers: Any = None  # the entrance for integers
        self.integers: Any = None  # and the one before the door
        self._complexes: Any = None  # the entrance for complex numbers
        self.complexes: Any = None  # and the one before the door
        self._takes_integers, self._takes_complex = takes_integers(rec), takes_complex(rec)
        self._itself = KIND_SETS.get(rec.field("itself") or "")
        self._read: Reader | None = None
        first = half_operand(rec)
        self._half_at = -1 if first is None else rec.params.index(first)
        # What each call on the general path asks of the record.
        self.refuses_grad = rec.field("refuses_grad") or {}
        self._overloads, self._redirect, self._check = rec.field("overloads"), rec.field("redirect"), rec.field("check")
        self.leads = self._overloads is not None or self._redirect is not None or bool(rec.takes_inplace)
        self.is_view = rec.family in ("view", "view?")
        self._of_view = None if rec.copied is rec else node_class(rec)  # what the nodes are of where copies have others
        self._keeps_more = any([read.kind == "kernel" for read in rec.saved]) if rec.has_vjp else False
        self._stores = rec.field("store") is not None
        self._opmath, self._rows = rec.field("opmath"), rec.field("layout") == "rows"
        self._dataless = rec.field("meta_layout") is not None  # what has no data lies as that says
        self._ordered = layout_operands(rec)
        self._dtype = next((p.name for p in rec.params if p.type == "dtype?"), None)
        self._names = [p.name for p in rec.params]
        self._single = len(rec.returns) == 1 and not rec.returns_list
        self._lists = any([p.type.endswith(("[]", "[]?")) or p.type.startswith("int[") for p in rec.params])
        self._sized = rec.field("meta") is data_dependent or rec.field("sized_by_values") is not None
        self.at_once = any([p == "Any" for p, _ in rec.returns])  # values decide what Python gets
        one = self._single and rec.field("numpy") is not None and not self.is_view and not rec.field("random")
        # Whether `out`, and the first argument in place, may be written over with the result of the quiet path.
        self._writes = (one and rec.field("no_out") is None and not rec.field("computed_in_out"),
                        one and rec.elementwise and not self._stores and not rec.field("resizes_") and not rec.field("store_part"))
        self._common = common_of(rec, self._dtype, frontend)
        self.mixed = self._common and self._common.mixed

    def noted(self, args: Arguments, out: object, inplace: bool) -> Any:
        """As doors do it."""
        if TO_REGULAR or out is not None or inplace or self.at_once or (notes := noting.calls) is None \
                or "asyncio" in _modules and in_loop():
            return HERE
        if self.gives_input(args):  # whose node tells nothing of the call
            return args[0] if notes.at >= 0 else held_in(notes, self, args, lambda input: input, args)
        notes.append(note := [self, _kept(args) if self._lists and list in map(type, args) else args, UNDONE, None])
        try:
            if self._sized and self.sized_by(args):
                note_size()
            note[2] = result = (self._below[0] or self._entrance(False))(*args)
        except AutogradError as error:
            raise self.frontend.error(error) from None
        note[3] = result._node or next_id() if self._single else [o._node or next_id() for o in result]
        return result

    def _entrance(self, inplace: bool) -> Fn:
        below = self._below[inplace] = self.frontend.below(self, inplace)
        return below

    def _half_entrance(self, inplace: bool = False) -> Any:
        if inplace:
            self._half_in_place = half = self.frontend.half(self, False, True)
        else:
            self._half = half = self.frontend.half(self)
        return half

    def open_half(self, inplace: bool = False) -> Any:
        """The one that functions take while nobody looks at calls, which ends in the door."""
        half = self.half = self.frontend.half(self, True, inplace)
        return half

    def _integers_entrance(self) -> Any:
        integers = self._integers = self.frontend.integers(self)
        return integers

    def open_integers(self, inplace: bool = False) -> Any:
        """The entrance for integers, which functions take while nobody looks at calls, and which ends in the door."""
        integers = self.integers = self.frontend.integers(self, True, inplace)
        return integers

    def _complexes_entrance(self) -> Any:
        complexes = self._complexes = self.frontend.complexes(self)
        return complexes

    def open_complexes(self, inplace: bool = False) -> Any:
        """The entrance for complex numbers, which functions take while nobody looks at calls, and which ends in the door."""
        complexes = self.complexes = self.frontend.complexes(self, True, inplace)
        return complexes

    def vet(self, args: tuple[Any, ...]) -> None:
        """Raises where the general path would refuse arguments of the right types, or have another operation carry the call out."""
        rec, values = self.rec, dict(zip(self._names, args))
        tensors = self.tensors_of(values)
        if self.leads and self.leads_elsewhere(args, False):
            raise TypeError
        dtype = tensors[0]._k.dtype
        if dtype.group or rec.lacks:
            rec.refuse_lacking(dtype.name, tensors[0], values)
        self.check(values)

    def led(self, args: tuple[object, ...]) -> Any:
        """What the operation gives that carries out a call with these arguments, while nobody looks; None where it is this one."""
        target = None if recordings else self.redirect(args)
        return None if target is None else self.frontend.function(target[0])(*target[1])

    def deprecated(self, given: tuple[object, ...], named: tuple[object, ...], out: object, inplace: bool) -> Any:
        """A call with more positional arguments than the schema has, for one of torch's deprecated signatures; `...` stands for none."""
        name = self.rec.name + "_" * inplace
        given = tuple([value for value in given if value is not ...])
        try:
            args, signature = match_deprecated(self.rec, name, given, named, out, self.method)
        except AutogradError as error:
            raise self.frontend.refused(self, inplace) or self.frontend.error(error) from None
        warn_deprecated(self.rec, name, signature, self.method)
        return self(args, out, inplace)

    def carry_out(self, args: Arguments, out: object, inplace: bool) -> Any:
        """On the quiet path, where the call came here because somebody looks at calls; else on the general one."""
        if out is None and (modes.watched or self._asked[1]):
            below = self._below[inplace] or self._entrance(inplace)
            if not recordings or noting.calls is None and not active_tapes():  # nobody records, or another thread alone
                return below(*args)
            if inplace:
                args = self.coerced(args)
                return hold(self, args, below, args, None, True)
        return self.rest(args, out, inplace)

    def coerced(self, args: Sequence[object]) -> Arguments:
        """Arguments as the front end takes them: arrays as tensors."""
        return tuple([self.frontend.coerce(p, v) for p, v in zip(self.rec.params, args)])

    def sized_by(self, args: Sequence[object]) -> bool:
        """Whether values decide the shape of what a call with these arguments returns, and nothing that it calls says so."""
        rec = self.rec
        return rec.field("meta") is data_dependent or bool((rec.field("sized_by_values") or _never)(*args))

    def rest(self, args: tuple[object, ...], out: object = None, inplace: bool = False) -> Any:
        """The operation on the quiet path for half precision, or on that for integers, or else on the general path."""
        if inplace:  # which a tape holds as a whole
            if self._half_at == 0 and not self._stores and getattr(args[0], "_k", None) in HALF_KINDS and not (
                    self.leads and self.leads_elsewhere(args, True)):
                return (self._half_in_place or self._half_entrance(True))(*args)
        elif self._half_at >= 0 and out is None and (
                not recordings or (notes := noting.calls) and notes[-1][2] is UNDONE):  # a noted call
            x = args[self._half_at]
            if x.__class__ is list or x.__class__ is tuple:
                x = x[0] if x else None
            if getattr(x, "_k", None) in HALF_KINDS and not (self.leads and self.leads_elsewhere(args, False)):
                return (self._half or self._half_entrance())(*args)
            if recordings or modes.watched or self._asked[1]:  # else functions have asked before the door
                k = getattr(x, "_k", None)
                if self._takes_integers and k in _INTEGERS:
                    return (self._integers or self._integers_entrance())(*args)
                if self._takes_complex and k in _COMPLEX and not (self.leads and self.leads_elsewhere(args, False)):
                    return (self._complexes or self._complexes_entrance())(*args)
        return self.whole(args, out, inplace)

    def whole(self, args: tuple[object, ...], out: object = None, inplace: bool = False) -> Any:
        """The operation on the general path."""
        if recordings and (notes := noting.calls):
            state = notes[-1][2]
            if state is BROUGHT:
                return state
            if state is UNDONE:
                result = self._brought(args, out, inplace, notes[-1])
                if result is BROUGHT:
                    notes.pop()  # what is not quiet is held as a whole
                    return self.passed(args, out, inplace)
                return result
        rec, frontend = self.rec, self.frontend
        if not inplace and rec.takes_inplace and args[rec.takes_inplace]:
            return frontend.function(rec.name + "_")(*args)
        if (inplace or out is not None) and not recordings and (written := self._written(args, out, inplace)) is not None:
            return written
        if self._overloads is not None and not isinstance(args[0], TensorRef):
            check_overloads(rec, args)
        target = None if self._redirect is None else self._redirect(*args)
        if target is not None:
            function = frontend.function(target[0] + "_" if inplace else target[0])
            return function(*target[1]) if out is None else function(*target[1], out=out)
        if not recordings and (result := self._brought(args, out, inplace)) is not BROUGHT:
            return result
        return self.run(args, out, inplace)

    def _written(self, args: tuple[Any, ...], out: Any, inplace: bool) -> TensorRef | None:
        """The first argument, or `out`, a plain tensor that nobody has a history of, with what the variant that gives a new tensor gives
        written over it; None, and nothing has happened, where that is not all that there is to it, or is an error."""
        target = args[0] if inplace else out
        if not self._writes[inplace] or not isinstance(target, TensorRef) or self.leads and self.leads_elsewhere(args, False):
            return None
        kind, base, quiet = target._k, target._base, self.frontend.below_namespace["Q_ALL"]
        if kind.inference or kind not in quiet and kind not in HALF_KINDS or 0 in target._data.strides:
            return None
        recording = grad_mode() is _ENABLED
        if recording and (target._node is not None or base is not None and base._node is not None) or self.frontend.carried_out_elsewhere():
            return None
        try:
            values = dict(zip(self._names, args))
            tensors = self.tensors_of(values)
            if recording and any([x._node is not None for x in tensors]):
                return None
            if inplace:
                self.frontend.check_memory(self.rec, target, tensors[1:])
            else:
                self._check_out(out, tensors, values)
            self.check(values)
            result = (self._below[False] or self._entrance(False))(*args)
        except STUMBLES:
            return None
        if result.__class__ is not self.frontend.Tensor or result._data.shape != target._data.shape or (
                result._k not in quiet and result._k not in HALF_KINDS):
            return None
        if not inplace:
            written: TensorRef = self.frontend.write_out(self.rec, out, (result,))
            return written
        of = result._k.dtype
        if of.category > kind.dtype.category or kind.dtype.is_complex and not of.is_complex:
            return None
        write_numbers(target._data, result._data)
        self.frontend.bump(target)
        return target

    def _brought(self, args: tuple[object, ...], out: object, inplace: bool, note: list[Any] | None = None) -> Any:
        """The result on the quiet path for operands that `Common` brings to one dtype; BROUGHT where it does not, or where that path ends
        in a call that `note` stands for."""
        if self._common is None or out is not None or inplace or (alike := self._common.brought(args, self.frontend)) is None or (
                note is not None and self.leads and self.leads_elsewhere(args, False)):
            return BROUGHT
        if self._check is not None:
            self._check(**dict(zip(self._names, args)))
        common = alike[self._half_at]._k if self._half_at >= 0 else None
        if common in HALF_KINDS:
            below = self._half or self._half_entrance()
        elif note is None and self._takes_complex and common in _COMPLEX:
            below = self._complexes or self._complexes_entrance()
        elif note is None and self._takes_integers and common in _INTEGERS:
            below = self._integers or self._integers_entrance()
        else:
            below = self._below[False] or self._entrance(False)
        if note is None:
            return below(*alike)
        note[2] = BROUGHT
        try:
            return below(*alike)
        finally:
            note[2] = UNDONE

    def gives_input(self, args: Sequence[Any]) -> bool:
        """Whether a call that writes nowhere gives its first argument back."""
        return self._itself is not None and isinstance(args[0], TensorRef) and CPU_KINDS.get(args[0]._k.np) in self._itself

    def leads_elsewhere(self, args: tuple[object, ...], inplace: bool) -> bool:
        """Whether another operation carries out a call with these arguments, or nobody does."""
        given = self.rec.takes_inplace
        return (self._overloads is not None and not isinstance(args[0], TensorRef) or bool(given and not inplace and args[given])
                or self._redirect is not None and self._redirect(*args) is not None)

    def redirect(self, args: tuple[object, ...]) -> Any:
        """(name, arguments) of the operation that carries out a call with these arguments; None where it is this one."""
        return None if self._redirect is None else self._redirect(*args)

    def run(self, args: tuple[object, ...], out: Any = None, inplace: bool = False, executor: Any = None) -> Any:
        """The operation itself, perhaps by another executor than the device's."""
        rec, frontend = self.rec, self.frontend
        if recordings:
            if not within() and active_tapes():
                args = self.coerced(args)
                return hold(self, args, self.run, (args, out, inplace, executor), out=out, inplace=inplace)
            if self._sized and self.sized_by(args):
                note_size()
        values, tensors = self.arguments(args, inplace)
        if self._itself and out is None and not inplace and executor is None and self.gives_input(tensors):
            return tensors[0]
        recorded = False  # whether some argument has a history, or begins one
        for t in tensors:
            if t._data is None:  # the output of an OpSpec; what cannot be computed yet is an error
                above.evaluate(t)
            if t._node is not None:
                recorded = True
        if inplace:
            frontend.check_inplace(values[rec.params[0].name], tensors[1:])
        if recorded and rec.differentiable and grad_mode() is _ENABLED:
            for t in tensors:
                node = t._node
                if node is not None and node is not LEAF and node._tag == 0 and node.forbids is not None:
                    raise AutogradError(node.forbids)
        if out is not None:
            self._check_out(out, tensors, values)
        for name, step in self.refuses_grad.items():
            if wants_grad(values[name]):
                raise grad_refusal(step(values["input"]), name)
        if inplace:
            frontend.check_memory(rec, values[rec.params[0].name], tensors[1:])
        if rec.refuses_complex:
            meta = on_meta(*tensors)
            for p in rec.differentiable_params or rec.tensor_params:
                for x in values[p.name] if p.type == "Tensor[]" else (values[p.name],):
                    if isinstance(x, TensorRef) and x._k.dtype.is_complex or isinstance(x, complex):
                        common = rec.promotion in ("promote", "float") or not isinstance(x, TensorRef)
                        dtype = result_dtype([(t._k.dtype, t.ndim) for t in tensors],
                                             [] if isinstance(x, TensorRef) else [x]) if common else x._k.dtype  # type: ignore[union-attr]
                        refusal = rec.complex_refusal(SCALAR_TYPE_NAMES[dtype.name], values, meta)
                        if refusal is not None:
                            raise refusal
        self.check(values)
        if recordings:
            for target in (values[rec.params[0].name],) if inplace else () if out is None else out if isinstance(out, tuple) else (out,):
                note_write(target)
        if frontend.below_autograd is not None:
            handled = frontend.below_autograd(self, values, tensors, inplace)
            if handled is not NotImplemented:
                return handled if out is None else frontend.write_out(rec, out, (handled,) if isinstance(handled, TensorRef) else handled)
        if inplace and executor is None and not recordings and tensors[0]._k.special is None and (
                write := self._quiet_write(values, tensors)) is not None:
            return self._changed(values, tensors, write, lambda t: frontend.wrap(t._data.copy(), t._k),
                                 lambda t: frontend.wrap(t._data, t._k))
        device, usual = frontend.place(rec, tensors, values)
        compute, arrays = self._arrays(values, tensors, device)
        if tensors:
            unary = rec.promotion == "float" and len(tensors) == 1 and device.type != "meta"
            dtype = tensors[0]._k.dtype if compute is None or unary else compute
            if (dtype.group or rec.lacks) and not (dtype.group == "uint" and frontend.numpy_unsigned):
                rec.refuse_lacking(dtype.name, tensors[0], values)
        if rec.broadcasts:
            broadcast_shape(*[a.shape for a in self._broadcast_arrays(arrays)])
        coded = compute is not None and compute.code or any([t._k.dtype.code for t in tensors])
        results = self._coded(executor or usual, arrays, compute) if coded else (executor or usual).run(rec, arrays)
        results = results if isinstance(results, (tuple, list)) else (results,)
        results = self._laid_out(results, values, device)
        results, kinds = self._finish(results, compute, device, values)
        if inplace:
            return self._store(values, tensors, results[0], kinds, arrays)
        if out is None and kinds and (group := kinds[0].dtype.group) and rec.family not in ("view", "view?"):
            warned.made(group)
        outputs = [frontend.wrap(r, k) for r, k in zip(results, kinds)]
        self._record(values, tensors, outputs, results)
        return self._given(outputs) if out is None else frontend.write_out(rec, out, outputs)

    def _coded(self, executor: Any, arrays: dict[str, Any], compute: DType | None) -> Any:
        """The results where elements are of a dtype that NumPy does not compute in: in the wider one, rounded once. Views see elements."""
        rec = self.rec
        if coded_class not in above.entry_classes:
            above.entry_classes.append(coded_class)
        if rec.any_elements:
            return executor.run(rec, arrays)
        code = None if compute is None else compute.code

        def wide(x: Any) -> object:
            nonlocal code
            if x.__class__ is list:
                return [wide(y) for y in x]
            own = x.__class__ is np.ndarray and DType.by_np[x.dtype].code
            if not own:
                return x
            code = code or own
            return own.read(x)

        results = executor.run(rec, {name: wide(x) for name, x in arrays.items()})
        if code is None:
            return results
        if isinstance(results, (tuple, list)):
            return [code.narrowed(r) for r in results[:len(rec.returns)]] + list(results[len(rec.returns):]) if not rec.returns_list else \
                [code.narrowed(r) for r in results]
        return code.narrowed(results)

    def _given(self, outputs: Sequence[object]) -> Any:
        """What the operation returns."""
        if self.rec.returns_list:
            return self.frontend.list_type(self.rec)(outputs)
        return outputs[0] if len(outputs) == 1 else self.frontend.returned(self.rec)(*outputs)

    def carried_out(self, values: Keywords, tensors: list[Any], outputs: Sequence[Any], views: bool) -> Any:
        """What the operation returns where somebody else computed `outputs`, tensors without history: it is recorded as ever.

        Args:
            views: whether the outputs of a view look at its first argument's memory.
        """
        results = [o._data for o in outputs]
        if self._keeps_more and any([t._node is not None for t in tensors]):
            # What kernels give beside the outputs is known to ours only.
            given, known = self.frontend.without_classes(self.rec, values, tensors)
            device, executor = self.frontend.place(self.rec, known, given)
            results += executor.run(self.rec, self._arrays(dict(given), known, device)[1])[len(results):]
        self._record(values, tensors, outputs, results, views)
        return self._given(outputs)

    # -- arguments ------------------------------------------------------------------------------------------------

    def arguments(self, args: tuple[object, ...], inplace: bool = False) -> tuple[dict[str, Any], list[TensorRef]]:
        """(arguments by name, the tensors among them), checked and converted to what the schema says."""
        read = self.read(args)
        if read is not None:
            return read
        rec, name = self.rec, self.rec.name + "_" * inplace
        try:
            values = {p.name: _check(self.frontend, rec, p, max(i + (not self.method), 1), self.frontend.coerce(p, v), name)
                      for i, (p, v) in enumerate(zip(rec.params, args))}
        except ArgumentError:
            if self._overloads is None:
                raise
            raise no_match_of(rec, args) from None
        return values, self.tensors_of(values)

    def recorded(self, entry: TapeEntry, args: Sequence[object]) -> tuple[dict[str, Any], list[TensorRef]]:
        """The arguments by name, and the tensors among them, of the operation whose entry a call with `args` made."""
        values = dict(zip(self._names, args))
        return values, self.tensors_of(values)

    def read(self, args: tuple[object, ...]) -> tuple[Keywords, list[TensorRef]] | None:
        """(arguments by name, the tensors among them) where they are of the right types and need no change; else None."""
        if self._read is None:
            self._read = _reader(self.rec)
        return self._read(*args)

    def check(self, values: Keywords) -> None:
        """Raises where the record says that arguments are wrong, of the right types though they are."""
        if self._check is not None:
            self._check(**values)

    def tensors_of(self, values: Keywords) -> list[TensorRef]:
        """The tensors among the arguments."""
        found: list[TensorRef] = []
        for p in self.rec.tensor_params:
            value = values[p.name]
            if p.type == "Tensor[]":
                found += value
            elif isinstance(value, TensorRef):
                found.append(value)
        return found

    def _check_out(self, out: TensorRef, tensors: list[TensorRef], values: dict[str, int | TensorRef]) -> None:
        """Raises where results must not be written to `out`; where the operation is carried out in its dtype, notes that in `values`."""
        refuses = self.rec.field("no_out")
        if refuses is not None and refuses(**values):
            raise without_out(self.rec.name)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        if self.rec.returns_list and outs is not out:
            raise ArgumentError(f"{self.rec.name}(): argument 'out' must be tuple of Tensors, not {type_name(out)}",
                                expected="tuple of Tensors", found=type_name(out), remedy="pass a list of tensors to write the results to")
        check_outs(self.rec.name, outs, grad_mode() is _ENABLED and any([t._node is not None for t in tensors]))
        apart = self.rec.field("out_apart") or "single" * self.rec.elementwise
        if apart:
            for o in outs:
                if "single" in apart:
                    check_single(o)
                check_apart(o, tensors, "whole" in apart)
        if self.rec.field("computed_in_out") and values["dtype"] is None:
            values["dtype"] = outs[0]._k.dtype

    def _broadcast_arrays(self, arrays: Keywords) -> list[np.ndarray]:
        return [arrays[p.name] for p in self.rec.tensor_params if p.type != "Tensor[]" and arrays[p.name].__class__ in BUFFERS]

    def _arrays(self, values: Keywords, tensors: list[TensorRef], device: Device) -> tuple[DType | None, Keywords]:
        """(dtype of the computation, kernel arguments)."""
        rec = self.rec
        asked = None if self._dtype is None else values[self._dtype]
        compute: DType | None = None
        if rec.promotion != "none":
            typed = [(v._k.dtype, v.ndim) for p in rec.tensor_params if p.differentiable
                     for v in (values[p.name] if p.type == "Tensor[]" else (values[p.name],)) if isinstance(v, TensorRef)]
            numbers = [values[p.name] for p in rec.params if p.type == "Operand" and not isinstance(values[p.name], TensorRef)
                       and values[p.name] is not None]
            compute = result_dtype(typed, numbers) if typed or numbers else None
            if compute is not None and rec.promotion == "float" and compute.category < FLOATING:
                compute = default_dtype()
        if compute is not None and compute.category < COMPLEX:
            for p in rec.params:
                if p.type == "Scalar" and isinstance(values[p.name], complex):
                    check_number(values[p.name], compute)
                    values[p.name] = values[p.name].real
        if asked is not None:
            compute = asked
        arrays: dict[str, Any] = {}
        for p in rec.params:
            value = values[p.name]
            if p.type == "dtype?":
                continue
            if p.type == "Tensor[]":
                arrays[p.name] = [self._cast(v._data, compute) for v in value]
            elif isinstance(value, TensorRef) and p.is_tensor:
                data = value._data if value._k.special is None else self.frontend.values_of(value)
                if p.type == "Index" and data.dtype != np.int64 and data.dtype.kind in "iu":
                    data = data.astype(np.int64)
                arrays[p.name] = self._cast(data, compute) if p.differentiable else data
            elif p.type == "Operand" and value is not None:
                # astype wraps integers that are out of range, as torch does, where the constructor refuses or warns.
                arrays[p.name] = np.asarray(value) if compute is None else converted(np.asarray(value), compute.np)
            elif p.scales:
                if value != 1:
                    scaled = rec.params[1].name
                    if compute is not None and compute.code is not None:
                        arrays[scaled] = compute.code.write(np.asarray(compute.code.read(arrays[scaled]) * compute.code.wide.type(value)))
                        continue
                    number = arrays[scaled].dtype.type if compute is None else compute.np.type
                    product = arrays[scaled] * (np.asarray(value).astype(number) if value.__class__ is int else number(value))
                    arrays[scaled] = product if product.__class__ in BUFFERS else np.asarray(product)
            else:
                arrays[p.name] = value
        if self._opmath and compute is not None and compute.name in _HALVES:
            self._widen(values, arrays, compute)
        return compute, arrays

    def _widen(self, values: dict[str, TensorRef | float | None], arrays: Keywords, compute: DType) -> None:
        """Half precision with a number is computed in float32. The number is not rounded before, but `alpha` is, save in products."""
        operands = [p.name for p in self.rec.tensor_params]
        alpha, last = values.get("alpha", 1), self.rec.params[1].name if self._opmath == "product" else operands[-1]
        if alpha == 1 and (arrays[last].ndim or self._opmath != "number"):
            return
        x = values[last]
        exact = x._data if isinstance(x, TensorRef) else np.asarray(x)
        for name in operands:
            arrays[name] = arrays[name].astype(np.float32)
        arrays[last] = exact.astype(np.float32)
        if alpha != 1:
            factor = np.asarray(alpha) if self._opmath == "product" else np.asarray(alpha).astype(compute.np)
            arrays[last] = np.asarray(arrays[last] * factor.astype(np.float32))

    def _cast(self, array: np.ndarray, compute: DType | None) -> np.ndarray:
        if compute is None or array.dtype is compute.np or array.dtype == compute.np:
            return array
        return converted(copy_like(array) if 0 in array.strides else array, compute.np)

    # -- results --------------------------------------------------------------------------------------------------

    def _laid_out(self, results: Sequence[np.ndarray], values: Keywords, device: Device) -> Sequence[np.ndarray]:
        """Results in memory as torch has them."""
        first = results[0] if results else None
        if first.__class__ is not np.ndarray:
            return results
        if self._rows:
            stays = first.flags.c_contiguous or self._dataless and device.type == "meta"
            return results if stays else (np.ascontiguousarray(first), *results[1:])
        operands = [x._data for p in self._ordered if isinstance(x := values[p.name], TensorRef)]
        if not operands or all([a.flags.c_contiguous for a in operands]):
            return results
        return (laid_out(first, *operands), *results[1:])

    def _finish(self, results: Sequence[np.ndarray], compute: DType | None, device: Device, values: Keywords
                ) -> tuple[list[np.ndarray], list[Kind]]:
        rec = self.rec
        asked = self._dtype is not None and values[self._dtype] is not None
        arrays: list[np.ndarray] = []
        kinds: list[Kind] = []
        if rec.result == "same" and compute is None:
            compute = next((values[p.name]._k.dtype for p in rec.tensor_params if isinstance(values[p.name], TensorRef)), None)
        for i, array in enumerate(results):
            if i >= len(rec.returns) and not rec.returns_list:  # saved for the gradient only
                arrays.append(np.asarray(array) if isinstance(array, np.generic) else array)  # formulas take tensors, and no numbers
                continue
            if array.__class__ not in BUFFERS:
                array = np.asarray(array)
            if device.type == "mesh" and array.__class__ is np.ndarray:
                array = above.sharded.whole_on(device, array)
            if (rec.result == "same" or asked) and compute is not None and (i == 0 or rec.returns_list) and array.dtype != compute.np:
                if rec.result == "same" or not (compute.is_complex and array.dtype.kind == "f"):  # else it is a norm of complex numbers
                    array = converted(array, compute.np)
            arrays.append(array)
            kinds.append(kind(dtype_of(array), device))
        return arrays, kinds

    def _record(self, values: Keywords, tensors: list[TensorRef], outputs: Sequence[TensorRef], results: list[np.ndarray],
                views: bool = True) -> None:
        """Links views with their bases, and makes the entry where an input requires grad."""
        rec = self.rec
        if views and self.is_view:
            self.link(values[rec.params[0].name], outputs)
        for t in tensors:
            if t._node is not None:
                break
        else:
            return
        if outputs and rec.differentiable and grad_mode() is _ENABLED and not (rec.family == "view" and outputs[0]._k.inference):
            node = self._maker(values)(self.frontend, outputs, results, *values.values())
            if node.__class__ is self._of_view and outputs[0]._base is None:
                node.__class__ = node_class(rec.copied)
            if node is not None and recordings:
                keep_on_tapes(node, tuple(tensors), tuple(outputs), values)

    def _maker(self, values: Keywords, inplace: bool = False) -> Fn:
        """What makes the entry of a call with these arguments."""
        maker = self._makers[inplace]
        if maker is None:
            rec = self.rec.in_place if inplace else self.rec
            maker = entry_of(rec.overload(values))
            if not rec.numbers and not rec.nodes:
                self._makers[inplace] = maker
        return maker

    def link(self, source: TensorRef, outputs: Sequence[TensorRef]) -> None:
        """Makes views of `source` of the outputs of a view, those that look at its memory."""
        rec = self.rec
        for output in outputs:
            if rec.family == "view" or (base := output._data.base) is not None and (base is source._data or base is source._data.base):
                output._k = inference_kind(output._k, source._k.inference)
                self.frontend.link_view(output, source, multi=len(outputs) > 1 or rec.returns_list)

    # -- in place -------------------------------------------------------------------------------------------------

    def _store(self, values: Keywords, tensors: list[TensorRef], result: np.ndarray, kinds: list[Kind], arrays: Keywords
               ) -> TensorRef:
        """Writes the result over the first argument. Where several of its elements are one place, what the operation leaves as it is must
        not be written over what it changes."""
        rec, frontend = self.rec, self.frontend
        first = rec.params[0].name
        target: TensorRef = values[first]
        frontend.check_store(rec, target, result, kinds[0])
        if self._ends_history(target):
            numbers = frontend.wrap(converted(np.asarray(result), target._k.np), target._k)
            return frontend.function("drawn_")(target, numbers, rec.name + "_")

        data, part = target._data, rec.field("store_part")

        def fill(elements: np.ndarray) -> None:
            write_numbers(data, elements if target._k.special is None else frontend.stored(target, elements))

        def write() -> None:
            if target._k.device.type == "meta":  # which has no memory to write to
                return
            nonlocal data
            if data.shape != result.shape:
                frontend.resize(target, result.shape)
                data = target._data
            if part is None or 0 not in data.strides:
                fill(result)
                return
            fill(data)
            part(data, **{name: value for name, value in arrays.items() if name != first})
            fill(data)

        return self._changed(values, tensors, write, lambda t: frontend.wrap(frontend.values_of(t).copy(), t._k),
                             lambda t: frontend.wrap(frontend.values_of(t), t._k))

    def _quiet_write(self, values: Keywords, tensors: list[TensorRef]) -> Callable[[], Any] | None:
        """What changes the first argument as a quiet path does, which keeps no history; None where there is no such path."""
        target, args = tensors[0], tuple(values.values())
        kind, data, version = target._k, target._data, target._v
        if version is not None and version.watched or 0 in data.strides or self._ends_history(target) or any([
                t._k is not kind for t in tensors if t._k.dtype.category >= FLOATING]):
            return None
        if kind in HALF_KINDS:
            if self._half_at < 0 or self._stores:
                return None
            result = unrecorded(self._half or self._half_entrance(), args)
            return (lambda: np.copyto(data, result._data)) if result._k is kind and result._data.shape == data.shape else None
        if kind not in self.frontend.below_namespace["Q_ALL"] or grad_mode() is not _ENABLED or not any([
                t._node is not None for t in tensors]):
            return None
        below = self._below[True] or self._entrance(True)

        def write() -> None:
            version = Version.of(target)
            before = version.number
            unrecorded(below, args)
            version.number = before

        return write

    def changed_elsewhere(self, values: Keywords, tensors: list[Any], write: Callable[[], Any], copied: Callable[[Any], Any]
                          ) -> TensorRef:
        """The in-place variant where somebody else, `write`, changes the first argument, in one step: it is recorded as ever.

        Args:
            copied: makes the copy that the gradient may need.
        """
        target: TensorRef = values[self.rec.params[0].name]

        def write_once() -> None:
            version = Version.of(target)
            before = version.number
            write()
            version.number = before  # what `write` is made of counts as one change

        if self._ends_history(target):
            write_once()
            return self.frontend.function("drawn_")(target, self.frontend.wrap(target._data.copy(), target._k), self.rec.name + "_")
        return self._changed(values, tensors, write_once, copied, self.frontend.bare)

    def _keeps(self, name: str, values: Keywords) -> bool:
        """Whether a gradient that somebody wants needs the value of an input."""
        for target, _, needed in self.rec.vjps:
            x = None if target is None else values[target]
            if name in needed and (target is None or isinstance(x, (tuple, list)) or getattr(x, "_node", None) is not None):
                return True
        return False

    def _ends_history(self, target: TensorRef) -> bool:
        """Whether nothing of what was there has a gradient: the operation is constant almost everywhere."""
        rec = self.rec
        return not rec.differentiable and bool(rec.field("node_")) and target._node is not None and grad_mode() is _ENABLED

    def _changed(self, values: Keywords, tensors: list[TensorRef], write: Callable[[], Any], copied: Callable[[Any], Any],
                 bare: Callable[[Any], Any]) -> TensorRef:
        """Lets `write` change the first argument, and puts the entry into the history of it and of its base."""
        rec, frontend = self.rec, self.frontend
        first = rec.params[0].name
        target: TensorRef = values[first]
        recording = rec.differentiable and grad_mode() is _ENABLED and any(t._node is not None for t in tensors)
        if recording and (rec.field("resizes_") or self._keeps(first, values)):
            # The gradient needs the value, or the shape, from before the update.
            copy = copied(target)
            copy._node = target._node
            values = {**values, first: copy}
        write()
        if recording:
            shadow = bare(target)
            shadow._v = version = Version.of(target)
            node = self._maker(values, True)(frontend, [shadow], [target._data], *values.values())
            # `x.mul_(x)` changes what it saves of x, so that going back through it is an error; the result is saved as it is after that.
            frontend.bump(target)
            if node is not None:
                if node.saved.__class__ is tuple:
                    node.saved = tuple([s + 1 if at and node.saved[at - 1] is version else s for at, s in enumerate(node.saved)])
                if recordings:
                    keep_on_tapes(node, tuple(tensors), (target,), values, None, (node.id,))
                frontend.rebase(target, node)
        else:
            frontend.bump(target)
        return target
