"""A front end: the functions compiled from the operation records for one tensor class.

`autograd_tape.F` is the front end of `TensorRef`; torchcompat makes another for its Tensor. What differs between them, how
arguments are coerced, how errors are worded, what in-place updates must respect, are the methods below.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .annotations import Fn, Keywords, SomeFn
from . import views
from .calls import FAILURES, Door, Plain, passing
from .dtypes import CPU, CPU_KINDS, SCALAR_TYPE_NAMES, Device, Kind, kind, write_numbers
from .errors import AutogradError, ShapeMismatchError
from .executors import executor_for
from .executors.kernels import halves
from .executors.kernels.pairs import halved, halves_in_order
from .executors.kernels.sharing import by_parts
from .held import note_other_memory
from .modes import register_quiet_sets
from .node import OutputEdge, TapeEntry
from .ops import ALIASES, RECORDS, get_record
from .functions.compile import compile_function
from .functions.faces import face_of
from .functions.irregular import irregular_function
from .functions.out import check_out_dtypes, check_outs
from .functions.namespace import COMPLEX_SETS, HALF_SETS, INTEGER_SETS, QUIET_SETS, RESULT_KINDS, base_namespace
from .ops._index import METHODS
from .record import Param, Record, method_names, registered
from .tensor import BUFFERS, LEAF, TensorRef, above, leaf_node
from .version import Version
from .views import unwatched_view

if TYPE_CHECKING:
    from .dtypes import DType
    from .tensor import _Leaf
    from .executors.base import Executor
    from .functions.general import General


class Frontend:
    """Functions by name (`frontend.mul`), compiled at first use for one tensor class."""

    module = "autograd_tape.F"
    default_device: Any = None
    numpy_indexing = True
    """Whether ranges in an index may go back, and numbers apart from arrays count as arrays, as in NumPy."""
    numpy_unsigned = True
    """Whether unsigned integers of more than 8 bits are computed with, as in NumPy and the array API."""
    numbers_with_history = True
    """Whether a tensor that requires grad is taken where an operation takes a number; a transform says that the gradient would be lost."""
    dtype_names = True
    """Whether dtypes are taken by name, and as NumPy has them."""
    saved_tensors_of_all = True
    """Whether nodes that no tape keeps have the attribute `saved_tensors`."""
    torch_nodes = False
    """Whether nodes that stand for several of torch's look like these."""
    numpy_words = False
    """Whether functions take NumPy's words for parameters, `axis=` and `keepdims=`, beside their own."""
    numpy_methods = frozenset([name for name in dir(np.ndarray) if callable(getattr(np, name, None))]) - {"put", "sort"}
    """The methods that are also called as NumPy's arrays have them: where arguments are not the record's, NumPy's function is meant. It
    changes no array, as these do."""
    below_autograd: Any = None
    """Carries out operations in the place of an executor: called with (general, values, tensors, inplace), returns NotImplemented to
    pass. None where nobody does."""
    carried_out_elsewhere: Callable[[], bool] = staticmethod(bool)
    """Whether that is so of all operations just now."""

    transforms: Any = None
    """Where `jvp`, `vjp` and `vmap` of functions of its tensors are, None for those of `autograd_tape.transforms`."""

    def __init__(self, tensor_class: type[TensorRef], name: str) -> None:
        self.Tensor, self.name = tensor_class, name
        TapeEntry.front_end = self
        if "_front_end" not in vars(tensor_class):  # another for the same class is an executor's, or a test's
            tensor_class._front_end = self
        self.functions: dict[str, Fn] = {}
        self.methods: dict[str, Fn] = {}
        self.entrances: dict[tuple[bool | str, ...], Fn] = {}
        self.namespace = base_namespace()
        self.namespace.update(Tensor=tensor_class, new=object.__new__, Edge=OutputEdge, unwatched_view=unwatched_view)
        self.below_namespace = dict(self.namespace)  # for entrances below the door
        self.half_namespace = {**self.namespace, "halved": halved, "halves_in_order": halves_in_order, "signed": halves.signed,
                               "SINGLE": CPU_KINDS[halves.SINGLE]}
        self.integer_namespace = dict(self.namespace)
        self.complex_namespace = {**self.namespace, "by_parts": by_parts}
        register_quiet_sets(self.namespace, {**QUIET_SETS, **RESULT_KINDS})
        register_quiet_sets(self.below_namespace, {**QUIET_SETS, **RESULT_KINDS}, below=True)
        register_quiet_sets(self.half_namespace, {**HALF_SETS, **RESULT_KINDS}, below=True)
        register_quiet_sets(self.integer_namespace, {**INTEGER_SETS, **RESULT_KINDS}, below=True)
        register_quiet_sets(self.complex_namespace, {**COMPLEX_SETS, **RESULT_KINDS}, below=True)

    def __getattr__(self, name: str) -> Fn:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            function = self.function(name)
        except AutogradError as error:
            raise AttributeError(str(error)) from None
        self.__dict__[name] = function
        return function

    def function(self, name: str) -> Fn:
        """The function of an operation, or of its in-place variant, by name or alias."""
        found = self.functions.get(name)
        if found is None:
            if name not in RECORDS and name not in ALIASES and name.endswith("_") and (name[:-1] in RECORDS or name[:-1] in ALIASES):
                rec = get_record(name[:-1])
                if rec.inplace:
                    own = rec.field("function_")
                    found = compile_function(rec, self, inplace=True) if own is None else self.bind_function(rec, own)
                    if name[:-1] != rec.name:
                        found = face_of(found, *self.home(rec, name))
            if found is None:
                rec = get_record(name)
                found = self.functions.get(rec.name) or (
                    self.bind_function(rec) if rec.field("function") or rec.field("make") else compile_function(rec, self))
                self.functions[rec.name] = found
                if name != rec.name and name not in rec.same:
                    found = face_of(found, *self.home(rec, name))
            self.functions[name] = found
        return found

    def bind_function(self, rec: Record, inner: Fn | None = None) -> Fn:
        """The function of an irregular operation; with `inner`, its method or its in-place variant."""
        return irregular_function(rec, self, inner)

    def home(self, rec: Record, name: str) -> tuple[str, str]:
        """(module, name there) of the function `name` of an operation, by which it is shown and pickled."""
        return self.module, name

    def home_of_method(self, name: str) -> tuple[str, str]:
        """The same of the method `name`."""
        return self.Tensor.__module__, f"{self.Tensor.__name__}.{name}"

    def passing(self, function: SomeFn) -> SomeFn:
        """A function that makes tensors, or reads them, with a door before it."""
        return passing(function, self)

    def refusing(self, function: SomeFn) -> SomeFn:
        """A function that is no operation of a record, with what `refused` says where it fails."""
        door = getattr(function, "door", None) or Plain(function, self)

        @functools.wraps(function)
        def method(*args: object, **kwargs: object) -> object:
            try:
                return function(*args, **kwargs)
            except FAILURES:
                refused = self.refused(door, False)
                if refused is None:
                    raise
            raise refused

        door.function = method
        return cast("SomeFn", method)

    def before(self, function: Fn, quick: SomeFn) -> SomeFn:
        """`quick`, which does the usual calls at once and leaves others to `function`, as they were made, in that one's place: it has the
        door of that."""
        functools.update_wrapper(quick, function)
        door: Any = function.door  # type: ignore[attr-defined]  # `passing` put it there
        door.function = door.front = quick
        return quick

    def below(self, general: Any, inplace: bool) -> Fn:
        """The entrance of a regular operation below the door: its quiet path, and `general.rest` where that ends."""
        key = general.rec.name, inplace
        found = self.entrances.get(key)
        if found is None:
            make = general.rec.field("make")
            found = self.entrances[key] = (compile_function(general.rec, self, inplace=inplace, below=general.rest) if make is None else
                                           make(self, self.below_namespace, general.rest))
        return found

    def half(self, general: General, before: bool = False, inplace: bool = False) -> Fn:
        """The entrance of a regular operation for tensors in half precision: its quiet path, whose kernel widens them where it must, and
        `general.whole` where that ends; with `before` it stands before the door, and ends in it, that of the variant in place, too."""
        return self._entrance_for("half", general, before, inplace)

    def integers(self, general: General, before: bool = False, inplace: bool = False) -> Fn:
        """The entrance of an operation for integers: its quiet path, for what has been vetted, and `general.whole` where that ends; with
        `before` it stands before the door, and ends in it, that of the variant in place, too."""
        return self._entrance_for("integers", general, before, inplace)

    def complexes(self, general: General, before: bool = False, inplace: bool = False) -> Fn:
        """The entrance of an operation for complex numbers: its quiet path, for what has been vetted, with nodes that conjugate where
        formulas are those of real numbers, and `general.whole` where that ends; with `before` it stands before the door, as the others."""
        return self._entrance_for("complexes", general, before, inplace)

    def _entrance_for(self, kinds: str, general: General, before: bool, inplace: bool) -> Fn:
        of: dict[str, Any] = {kinds: True}
        if before:
            return compile_function(general.rec, self, inplace=inplace, below=general.__call__, **of)
        key = general.rec.name, kinds, inplace
        found = self.entrances.get(key)
        if found is None:
            found = self.entrances[key] = compile_function(general.rec, self, inplace=inplace, below=general.whole, **of)
        return found

    def method(self, name: str) -> Fn:
        """The function as a method: `varargs` records also take their list as several arguments."""
        found = self.methods.get(name)
        if found is None:
            function = self.function(name)
            rec = get_record(name if name in RECORDS or name in ALIASES else name[:-1])
            own = rec.field("method")
            if own is not None and name in (rec.name, *rec.alias):
                found = self.bind_function(rec, own)
            elif rec.field("deprecated") and not name.endswith("_"):
                found = compile_function(rec, self, method=True)
            elif rec.varargs is None:
                found = function
            elif next(p.type for p in rec.params if p.name == rec.varargs) != "int[]":  # one number says something else than a list of it
                found = (function if not self.numpy_words else irregular_function(rec, self, loose=True) if rec.field("function") else
                         compile_function(rec, self, loose=True))
            elif (rec.field("function") is None and rec.field("make") is None and not name.endswith("_")
                  and rec.params[1].name == rec.varargs):
                found = compile_function(rec, self, spread=True)
            else:
                found = _spread(function, rec)
            if not isinstance(found, FunctionType):
                found = _as_function(found)
            if name in self.numpy_methods:
                plain = found is function and rec.field("function") is rec.field("make") is None and all(
                    [p.default is not None and (not p.keyword_only or p.name == "dtype") for p in rec.params[1:]])
                found = compile_function(rec, self, numpys=name) if plain else _or_numpys(found, name, rec)
            self.methods[name] = found = face_of(found, *self.home_of_method(name))
        return found

    @staticmethod
    def by_name(rec: Record, kwargs: Keywords) -> Keywords:
        """The keywords of a method that takes its list as several arguments and got none; TypeError where it is not among them."""
        if rec.varargs not in kwargs:
            raise TypeError(f'{rec.name}() missing 1 required positional arguments: "{rec.varargs}"')
        return kwargs

    def operator(self, attribute: str, name: str) -> Fn:
        """The function as the operator `attribute`, `__add__`."""
        rec = get_record(name if name in RECORDS else name[:-1])
        if rec.field("function") or rec.field("make") or len(rec.tensor_params) < 2:
            function = face_of(self.method(name), *self.home_of_method(attribute))
        else:
            function = compile_function(rec, self, inplace=name != rec.name, operator=attribute)
        function.door.leads_by(attribute if attribute in _SHOWN else name)  # type: ignore[attr-defined]  # both have one
        return function

    def joins(self, args: Sequence[object]) -> bool:
        """Whether the class of an argument carries out operations itself, which nobody looked for until a call failed on it."""
        return False

    def __dir__(self) -> list[str]:
        return sorted({*RECORDS, *ALIASES})

    # -- what compiled functions need -----------------------------------------------------------------------------

    def numpy_kernel(self, rec: Record) -> Any:
        """The NumPy kernel that the quiet path calls."""
        return rec.field("numpy")

    return_types = "autograd_tape.return_types"
    """The module that named tuples of results say they are of."""

    def return_type(self, rec: Record, out: bool = False) -> Any:
        """What several outputs are returned in; by a call with `out=`, which has types of its own."""
        names = [n for _, n in rec.returns]
        if len(names) == 1:
            return None
        name = rec.name.removesuffix("_along") + "_out" * out  # `max_along` carries out `max(dim)`, and so for others
        cached = _RETURN_TYPES.get((self.name, name))
        if cached is None:
            cached = _RETURN_TYPES[self.name, name] = self.named_tuple(name, names)
            cached.__module__ = self.return_types
        return cached

    def named_tuple(self, name: str, names: Sequence[str]) -> Any:
        """A type of several outputs."""
        from collections import namedtuple

        return namedtuple(name, names)

    def returned(self, rec: Record, out: bool = False) -> Any:
        """What makes one of `return_type` of outputs, each an argument."""
        return self.return_type(rec, out)

    def list_type(self, rec: Record) -> type:
        """What a list of outputs is returned in."""
        return tuple

    def conjugate(self, x: TensorRef) -> TensorRef:
        """`conj` of a complex tensor."""
        return self.function("conj_physical")(x)

    def unseen(self) -> AbstractContextManager[object]:
        """A block in which no mode of the program's sees operations."""
        return nullcontext()

    def values_of(self, t: Any) -> np.ndarray:
        """The elements of a tensor of a special kind as an array."""
        return t._data

    def stored(self, target: TensorRef, result: object) -> Any:
        """What the memory of a tensor of a special kind must hold for its elements to be `result`."""
        return result

    def wrap(self, array: Any, k: Kind | None = None, node: object = None) -> Any:
        """A new tensor over a buffer."""
        t = object.__new__(self.Tensor)
        if k is None:
            k = CPU_KINDS[array.dtype] if array.__class__ is np.ndarray or array.__class__ not in BUFFERS else array.kind
        t._data, t._k, t._node = array, k, node
        t._v = t._base = None
        return t

    def over(self, array: np.ndarray, *, requires_grad: bool = False) -> TensorRef:
        """A leaf over an array, whose memory it shares; as `TensorRef.over`."""
        t = TensorRef.over(array, requires_grad=requires_grad)
        return t if self.Tensor is TensorRef else self.wrap(t._data, t._k, t._node)

    def own(self, t: TensorRef) -> Any:
        """A tensor of any front end, or an array, as one of this: the same values, with the same history."""
        if not isinstance(t, TensorRef):
            return self.wrap(np.asarray(t))
        if isinstance(t, self.Tensor):
            return t
        if t._node is LEAF or t._data is None:  # another object would be another leaf, and would wait for other data
            return self.function("view_as")(t, t) if t._data is not None else t
        result = self.wrap(self.values_of(t), kind(t._k.dtype, t._k.device), t._node)
        result._v, result._base = Version.of(t), t._base
        return result

    def bare_output(self, data: np.ndarray, version: Version, number: int, k: Kind | TensorRef) -> TensorRef:
        """A saved output as a tensor without history: of what an entry saved of it, in the place of whose kind there may be a handle."""
        t = self.wrap(data, k if isinstance(k, Kind) else k._k)
        t._v = version
        return t

    def saved_output(self, node: TapeEntry, nr: int, data: np.ndarray, version: Version, number: int, k: Kind | TensorRef) -> TensorRef:
        """A saved output as a tensor with its history, for gradients of gradients."""
        t = self.bare_output(data, version, number, k)
        t._node = node if node.n_outputs == 1 else OutputEdge(node, nr)
        return t

    # -- the general path's questions -------------------------------------------------------------------------------

    def coerce(self, p: Param, value: object) -> Any:
        """`value` as an argument for `p`: arrays become tensors."""
        if isinstance(value, np.ndarray) and p.is_tensor:
            # A copy, for the caller may change theirs while the gradient still needs it.
            return self.wrap(value.copy("K"), CPU_KINDS[value.dtype])
        return value

    def error(self, error: AutogradError) -> Exception:
        """What is raised for a failure."""
        return error

    def refused(self, door: Door, inplace: bool) -> Exception | None:
        """What is raised in the place of the failure of a call that is passing a door, where its arguments were not to be taken at all."""
        return None

    def in_layout(self, name: str, shape: tuple[int, ...], dtype: object, layout: object, device: object, requires_grad: bool) -> Any:
        """What the factory `name` makes in another layout than the usual one."""
        raise AutogradError(f"only the strided layout is supported, got {layout}", expected="torch.strided", found=str(layout),
                            remedy="leave layout out")

    def made_like(self, model: TensorRef, result: TensorRef) -> TensorRef:
        """A tensor made after the model of another, as the kind of tensor that one is."""
        return result

    def place(self, rec: Record, tensors: Sequence[TensorRef], values: Keywords) -> tuple[Device, Executor]:
        """The device and executor of an operation on `tensors`."""
        device: Device | None = None
        chosen = rec.field("place")
        if chosen is not None:
            device = chosen(values)
            if device.type != "meta" and any([t._k.device.type == "meta" for t in tensors]):
                raise NotImplementedError("Cannot copy out of meta tensor; no data!")
            return device, executor_for(device)
        for t in tensors:
            d = t._k.device
            if device is None or (device is not d and device != d and device_yields(device, tensors)):
                device = d
            elif d is not device and d != device and t.ndim and (device.type != "mesh" or d.type != "cpu"):
                raise AutogradError(f"Expected all tensors to be on the same device, but found at least two devices, {device} and {d}!",
                                    remedy=f"move one of them with .to('{device}')")
        if device is None:
            device = CPU
        return device, executor_for(device)

    def values_for_size(self, t: Any) -> np.ndarray:
        """The elements of a tensor of a special kind as an array, where the size of a result depends on them."""
        return self.values_of(t)

    def without_classes(self, rec: Record, values: Keywords, tensors: list[TensorRef]) -> tuple[Keywords, list[TensorRef]]:
        """The arguments of an operation, and the tensors among them, as what a kernel takes: tensors without elements as meta tensors.

        Raises:
            NotImplementedError: a tensor's class holds its elements, where no kernel finds them.
        """
        return values, tensors

    def valueless(self, t: TensorRef) -> bool:
        """Whether only the shape and dtype of a tensor are known, so that no value of it is to be judged."""
        return t._k.device.type == "meta"

    def fit(self, g: TensorRef, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A gradient with the shape and dtype of its input: broadcasting undone, dtype restored."""
        if tuple(g.shape) != shape:
            g = self.reduce_to_shape(g, shape)
        if g._k.np is not dtype:
            if g._k.np.kind == "c" and dtype.kind != "c":
                g = self.function("real")(g)
            g = self.function("cast")(g, kind_dtype(dtype))
        return g

    def reduce_to_shape(self, g: Any, shape: tuple[int, ...]) -> Any:
        """Sums over the dimensions that broadcasting added or stretched."""
        lead = len(g.shape) - len(shape)
        dims = tuple(range(lead)) + tuple([i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1])
        if dims:
            g = self.function("sum")(g, dims, True)
        if lead:
            g = self.function("reshape")(g, shape)
        return g

    link_view = staticmethod(views.link_view)

    def leaf_node(self, t: TensorRef, requires_grad: bool) -> _Leaf | None:
        """What `_node` holds for a tensor that was just made; an error where it is to require grad and cannot."""
        try:
            return leaf_node(t._k.dtype, requires_grad)
        except AutogradError as error:
            raise self.error(error) from None

    def bits_of(self, t: TensorRef) -> Any:
        """What the memory of a tensor of a special kind must go through to become its elements, or back: a function of an array, or of
        a tensor and this front end. None where nothing."""

    def restored(self, fresh: object, bits: object) -> Any:
        """A view made anew of a changed base, with the bits it had."""
        return fresh

    def become(self, t: TensorRef, view: TensorRef) -> bool:
        """Puts a view of a tensor in the tensor's own place; whether its history and version are to follow."""
        note_other_memory(t)
        t._data = view._data
        return True

    def bare(self, t: TensorRef) -> TensorRef:
        """Another handle on the tensor, without its history, for the entry that made it to save."""
        result = self.wrap(t._data, t._k)
        result._v = t._v
        return result

    def pack_saved(self, node: TapeEntry) -> None:
        """Gives saved-tensor hooks, where there are any, what a new entry saved."""

    def give(self, name: str, out: Any, result: Any) -> Any:
        """Writes into `out` what the irregular operation `name` computed."""
        outs, results = (out, result) if isinstance(out, (tuple, list)) else ((out,), (result,))
        check_outs(name, outs, any([r._node is not None for r in results]))
        return self.write_out(RECORDS[name], out, results)

    def check_out_device(self, out: TensorRef, result: TensorRef) -> None:
        """Raises where `out=` is on another device than the result."""
        if out._k.device != result._k.device:
            raise AutogradError(f"Attempting to copy from device {result._k.device} to device {out._k.device}, but cross-device copies are "
                                "not allowed!", remedy="pass a tensor on the result's device")

    def write_out(self, rec: Record | None, out: Any, results: Sequence[TensorRef]) -> Any:
        """Copies the results of an operation into `out`, one tensor or a sequence of them, and returns it. Nothing is changed where one
        of them cannot be written to.

        Raises:
            AutogradError: the operation does not write to tensors of their dtype or device, or where several elements are one number.
            ShapeMismatchError: they cannot take the shape of the results.
        """
        outs = out if isinstance(out, (tuple, list)) else (out,)
        lists = rec.field("out_list") if rec is not None and rec.returns_list else None
        if lists is not None and len(outs) != len(results):
            raise AutogradError(f"{lists} expected an out= argument of size {len(results)}, got size {len(outs)}")
        check_out_dtypes(rec, results, outs)
        for o, r in zip(outs, results):
            self.check_out_device(o, r)
            if o._k.inference:
                views.check_inplace(o)
            if o._data.shape != r._data.shape:
                self.check_out_shape(o, r)
            elif 0 in o._data.strides and (rec is not None or r._data.size and (r._data != r._data.reshape(-1)[0]).any()):
                views.check_single(o)
        for o, r in zip(outs, results):
            if o._data.shape != r._data.shape:
                self.resize_out(o, r)
            if not self.valueless(o):
                found = r._data if r._k.special is None else self.values_of(r)
                write_numbers(o._data, found if o._k.special is None else self.stored(o, found))
            self.bump(o)
        if lists is not None:
            return None
        return out if rec is None or isinstance(out, TensorRef) else self.returned(rec, True)(*outs)

    def check_out_shape(self, out: TensorRef, result: TensorRef) -> None:
        """Raises where an `out` of another shape than the result cannot be given that."""
        raise ShapeMismatchError("out= has another shape than the result", expected=str(result.shape), found=str(out.shape),
                                 remedy="pass a tensor of the result's shape")

    def resize_out(self, out: TensorRef, result: TensorRef) -> None:
        """Gives `out` the shape of the result."""

    def check_inplace(self, target: TensorRef, others: Sequence[TensorRef]) -> None:
        """Raises where `target` may not be changed in place by an operation that also takes `others`."""
        views.check_inplace(target, others)

    def check_store(self, rec: Record, target: TensorRef, result: np.ndarray, result_kind: Kind) -> None:
        """Raises where `result` cannot be stored in `target`."""
        if target._data.shape != result.shape and not (
                rec.field("resizes_") and self.resizes(target, result.shape)):
            raise ShapeMismatchError(f"output with shape {list(target._data.shape)} doesn't match the broadcast shape {list(result.shape)}",
                                     expected=str(list(target._data.shape)), found=str(list(result.shape)),
                                     remedy="use the out-of-place operation")
        if target._k.dtype.is_complex and result_kind.dtype.is_floating_point:
            raise AutogradError(f"In-place {rec.name} is not supported for complex tensors.", remedy="use the out-of-place operation")
        if result_kind.dtype.category > target._k.dtype.category:
            raise AutogradError(f"result type {SCALAR_TYPE_NAMES[result_kind.dtype.name]} can't be cast to the desired output type "
                                f"{SCALAR_TYPE_NAMES[target._k.dtype.name]}", remedy="convert one operand first")

    def resizes(self, target: TensorRef, shape: tuple[int, ...]) -> bool:
        """Whether an update in place may give `target` another shape."""
        return False

    def check_memory(self, rec: Record, target: TensorRef, others: Sequence[TensorRef]) -> None:
        """torch's rule: operands may be the changed tensor itself, but not share a part of its memory."""
        views.check_memory(rec, target, others)

    bump = staticmethod(Version.count)

    def rebase(self, target: TensorRef, node: TapeEntry) -> None:
        """Makes `node` the history of `target` after an in-place update, and of its base and views."""
        views.rebase(self, target, node)


def _spread(function: Fn, rec: Record) -> Fn:
    """A method that takes its list parameter as one argument or as several."""
    def method(self: TensorRef, *sizes: object, **kwargs: object) -> TensorRef:
        if len(sizes) == 1 and sizes[0].__class__ is not int:
            return function(self, *sizes, **kwargs)
        if not sizes:
            return function(self, **Frontend.by_name(rec, kwargs))
        return function(self, sizes, **kwargs)

    method.__name__ = method.__qualname__ = rec.name
    method.__doc__ = rec.doc
    return method


def _or_numpys(function: Fn, name: str, rec: Record) -> Fn:
    """A method that is NumPy's function of that name where its arguments are not the record's."""
    words = {p.name for p in rec.params} | {"out"}
    least = len([p for p in rec.params[1:] if p.default is None and p.name != rec.varargs])
    most = None if rec.varargs else len([p for p in rec.params[1:] if not p.keyword_only])

    def method(self: TensorRef, *args: object, **kwargs: object) -> TensorRef:
        if kwargs.keys() <= words and len(args) + len(kwargs) >= least and (most is None or len(args) <= most):
            return function(self, *args, **kwargs)
        return above.numpys(name, self, args, kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = function.__doc__
    return method


def _as_function(callable_: Callable[..., Any]) -> Fn:
    """A plain function, which binds as a method, over any callable."""
    def method(*args: object, **kwargs: object) -> object:
        return callable_(*args, **kwargs)

    method.__doc__ = callable_.__doc__
    return method


def device_yields(device: Device, tensors: Sequence[TensorRef]) -> bool:
    """Whether all tensors on `device` are CPU tensors that go along with another device: zero-dimensional, or with some on a mesh."""
    return device.type == "cpu" and (all(t.ndim == 0 for t in tensors if t._k.device == device)
                                     or any(t._k.device.type == "mesh" for t in tensors))


def kind_dtype(dtype: np.dtype) -> DType:
    """The DType of a NumPy dtype."""
    return CPU_KINDS[dtype].dtype


OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div", "__neg__": "neg",
    "__pow__": "pow", "__matmul__": "matmul", "__floordiv__": "floor_divide", "__mod__": "remainder", "__abs__": "abs",
    "__pos__": "positive",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__and__": "bitwise_and",
    "__rand__": "bitwise_and", "__or__": "bitwise_or", "__ror__": "bitwise_or", "__xor__": "bitwise_xor", "__rxor__": "bitwise_xor",
    "__invert__": "bitwise_not", "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift", "__rsub__": "rsub",
    "__getitem__": "getitem", "__setitem__": "setitem",
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__ipow__": "pow_",
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_",
    "__ilshift__": "bitwise_left_shift_", "__irshift__": "bitwise_right_shift_",
}


REFLECTED = {"__rpow__": "pow", "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rlshift__": "bitwise_left_shift",
             "__rrshift__": "bitwise_right_shift", "__rmatmul__": "matmul"}


_SHOWN = frozenset([
    "__rsub__", "__pow__", "__floordiv__", "__eq__", "__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__ipow__", "__iand__",
    "__ior__", "__ixor__", "__ilshift__", "__irshift__", "__getitem__", "__setitem__"])
"""The operators that who listens to calls is shown; of the others it is the method of the operation's name."""


class _Stub:
    """A method that nobody has read yet."""

    __slots__ = ("tensor_class", "name", "make")

    def __init__(self, tensor_class: type, name: str, make: Callable[[], Fn]) -> None:
        self.tensor_class, self.name, self.make = tensor_class, name, make

    def __get__(self, instance: object, owner: type | None = None) -> Fn:
        function = self.make()
        setattr(self.tensor_class, self.name, function)
        return function if instance is None else MethodType(function, instance)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.__get__(None)(*args, **kwargs)


def install_methods(tensor_class: type, frontend: "Frontend") -> None:
    """Gives a tensor class its operators and the methods of all records.

    Each is a stub that compiles the operation when first called, and a method already when first read, so that tables by method (those of
    `__torch_function__`) hold what calls are shown as; the compiled function takes the stub's place. (A class-level `__getattr__` would do
    the same more simply, but makes the interpreter give up its fast attribute access for the class.)
    """
    def stub(attribute: str, make: Fn, *names: str) -> None:
        setattr(tensor_class, attribute, _Stub(tensor_class, attribute, functools.partial(make, *names)))

    own = vars(tensor_class)
    for attribute, name in OPERATORS.items():
        base = name[:-1] if name.endswith("_") else name
        if base in RECORDS and attribute not in own:
            stub(attribute, frontend.operator, attribute, name)

    def reflected(attribute: str, name: str) -> Fn:
        def method(self: TensorRef, other: float | TensorRef) -> TensorRef:
            try:
                return frontend.function(name)(other, self)
            except TypeError:
                return NotImplemented

        method.__name__ = method.__qualname__ = attribute
        return method

    def rtruediv(self: Any, other: Any) -> TensorRef:
        try:
            return frontend.function("mul")(self.reciprocal(), other)  # as torch does it, to the last bit
        except TypeError:
            return NotImplemented

    for attribute, name in REFLECTED.items():
        if name in RECORDS and attribute not in own:
            setattr(tensor_class, attribute, reflected(attribute, name))
    if "__rtruediv__" not in own:
        tensor_class.__rtruediv__ = tensor_class.__rdiv__ = rtruediv  # type: ignore[attr-defined]  # a class made at run time

    def add(names: Iterable[str]) -> None:
        for name in names:
            if name not in own:
                stub(name, frontend.method, name)

    add(METHODS)
    for rec in RECORDS.loaded():
        add(method_names(rec))
    registered.append(lambda rec: add(method_names(rec)))
    if "__hash__" not in own:  # comparison makes tensors, so equality must not decide hashing
        tensor_class.__hash__ = object.__hash__  # type: ignore[assignment]  # the same function, for any object


def same_method(tensor_class: type, attribute: str, present: str) -> None:
    """Gives a tensor class's method a second name, under which it is the same function."""
    setattr(tensor_class, attribute, _Stub(tensor_class, attribute, functools.partial(getattr, tensor_class, present)))


_RETURN_TYPES: dict[tuple[str, str], Any] = {}


F = Frontend(TensorRef, "autograd_tape.F")
"""All operations as functions of TensorRefs: `F.add(x, y)`."""


def front_end_of(*values: TensorRef) -> Frontend:
    """Whose tensors results are: those of the front end of the values; where those of `TensorRef` and of another meet, the other's."""
    found = F
    for x in values:
        if isinstance(x, TensorRef) and x._front_end is not F:
            found = x._front_end
            break
    return found
