"""An operation that a program registered: a record made at run time, behind a door like all others.

Whoever looks at calls sees it as one operation under its full name, `mylib::sin`. What is left when all have looked is the walk through the
keys that are its own: its autograd kernel, or what stands for one; modes and classes with `__torch_dispatch__`; the kernel of the tensors'
device, or one for all devices.
"""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING, Any
from collections.abc import Iterator, Sequence

from autograd_tape.annotations import Arguments, Fn, Keywords
from autograd_tape.calls import Door, Parameter, changed
from autograd_tape.held import hold, note_write, tensors_in
from autograd_tape.locks import fork_safe_lock
from autograd_tape.modes import GradMode, grad_mode, recordings
from autograd_tape.ops import RECORDS
from autograd_tape.record import Record
from autograd_tape.strided import owner_of
from autograd_tape.tensor import TensorRef

from .._tensor import frontend
from ..autograd.function import of_unknown_gradient
from ..dispatch import DispatchKey, is_excluded
from ..utils import _python_dispatch
from .._calls.aten import OpOverload, OpOverloadPacket, namespace
from .._calls.keys import AUTOGRAD, DispatchKeySet
from .schema import Argument, FunctionSchema, Misfit, bound, listed
from .._calls.shown import shown_in

if TYPE_CHECKING:
    import numpy as np
    from torchcompat._tensor import Tensor
    from torchcompat.dispatch import _HandlerExecutor

BACKENDS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "npu": "PrivateUse1"}
"""The keys of types of devices."""
EXPLICIT, IMPLICIT = "CompositeExplicitAutograd", "CompositeImplicitAutograd"
OPERATORS: dict[str, Operator] = {}
"""All, by their full names."""
FALLBACKS: dict[str, Kernel] = {}
"""By key, what carries out operations that have no kernel there."""
_lock = fork_safe_lock()


def backend_of(tensors: Sequence[Any]) -> str:
    """The key of the tensors' device; empty where there are none."""
    if not tensors:
        return ""
    for t in tensors:
        if t._k.device.type == "meta":
            return "Meta"
    first = tensors[0]._k.device.type
    return BACKENDS.get(first) or first.upper()


def fallthrough_kernel() -> Any:
    """What stands, in `Library.impl`, for no kernel at all."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Kernel:
    """What carries out an operation at a key.

    Attributes:
        whole: whether it is called with all arguments by position, and below those who look at calls, as those that are made here.
        source: where it was registered.
    """

    def __init__(self, key: str, function: Fn, whole: bool = False, source: str = "") -> None:
        self.key, self.function, self.whole, self.source = key, function, whole, source


class _Thread(threading.local):
    instead: tuple[Any, Any] = (None, None)  # an operation, and what it is carried out by instead of its kernels


_thread = _Thread()


class Operator(Door):
    """An operation, one overload of it, and its door.

    Attributes:
        schema: what it takes and returns.
        overload: it, as programs see it: `torch.ops.mylib.sin.default`.
        kernels: by key, the latest last, which is the one that holds.
        bumps: whether the versions of what it changes are counted here, since its kernels are not made of operations that do.
    """

    bumps = False

    def __init__(self, schema: FunctionSchema, tags: Sequence[object] = ()) -> None:
        super().__init__(_record(schema), frontend)
        self.schema, self.tags = schema, tags
        self.qualname: str = self.rec.name
        space, _, name = schema.name.partition("::")
        self.params = [Parameter(a.name, a.kwarg_only, a.default) for a in schema.arguments]
        self._only_tensors = all([a.type.spelled == "Tensor" and not a.kwarg_only for a in schema.arguments])
        self._has_defaults = any([p.keyword_only or p.has_default for p in self.params])
        self.kernels: dict[str, list[Kernel]] = {}
        self.overload = OpOverload(name, schema.overload_name or "default", self.call, space)
        self.overload._schema, self.overload.tags, self.overload.operator = schema, list(tags), self  # type: ignore[attr-defined]

    # -- calls ------------------------------------------------------------------------------------------------------------

    def call(self, /, *args: object, **kwargs: object) -> Any:
        """The operation as programs call it."""
        return self(self.bind(args, kwargs))

    def public(self, inplace: bool) -> Fn:
        """The function that leads here."""
        return self.overload

    def bind(self, args: tuple[object, ...], kwargs: Keywords) -> Arguments:
        """The arguments of a call in the order of the schema, as what its types are.

        Raises:
            RuntimeError: they do not fit the schema.
        """
        schema, arguments = self.schema, self.schema.arguments
        if not kwargs and len(args) == len(arguments) and self._only_tensors and all([isinstance(a, TensorRef) for a in args]):
            return args
        return bound(schema, args, kwargs)

    def spelled(self, args: tuple[object, ...]) -> tuple[Arguments, Keywords]:
        """Arguments as kernels get them: without defaults at the end."""
        return super().spelled(args) if self._has_defaults else (args, {})

    def redispatch(self, keyset: DispatchKeySet, args: tuple[Tensor | int, ...]) -> Tensor:
        """The operation for the rest of a walk."""
        return self._autograd(args) if AUTOGRAD & keyset._keys else self.below_autograd(args)

    # -- the walk ----------------------------------------------------------------------------------------------------------

    def carry_out(self, args: tuple[object, ...], out: object, inplace: bool) -> Any:
        """The operation below those who look at calls."""
        return hold(self, args, self._autograd, (args,)) if recordings else self._autograd(args)

    rest = carry_out  # where modes look at it, too

    def run(self, args: tuple[Tensor, ...], out: object, inplace: bool, executor: _HandlerExecutor) -> Any:
        """The operation with an executor in the place of its kernels."""
        def kernel(*args: Tensor) -> object:
            arrays = {p.name: _arrays(a) for p, a in zip(self.params, args)}
            result = executor.run(self.rec, arrays)
            return tuple([frontend.wrap(r) for r in result]) if isinstance(result, tuple) else frontend.wrap(result)

        before, _thread.instead = _thread.instead, (self, Kernel("", kernel, True))
        try:
            return self._autograd(args)
        finally:
            _thread.instead = before

    def kernel(self, *keys: str) -> Kernel | None:
        """The kernel of the first of these keys that has one, and does not fall through."""
        kernels = self.kernels
        for key in keys:
            found = kernels.get(key)
            if found and found[-1].function is not fallthrough_kernel:
                return found[-1]
        return None

    def _autograd(self, args: Arguments) -> Any:
        if is_excluded(DispatchKey.Autograd):
            return self.below_autograd(args)
        tensors = tensors_in(args)
        key = backend_of(tensors)
        own = self.kernel(f"Autograd{key}", "Autograd")
        if own is None and _thread.instead[0] is not self and self.kernel(key, EXPLICIT) is None:
            own = self.kernel(IMPLICIT)
        if own is not None:
            return self.called(own, args)
        if f"Autograd{key}" in self.kernels or "Autograd" in self.kernels or not recording(tensors):
            return self.below_autograd(args, tensors)
        return self._without_formula(args)

    def below_autograd(self, args: Arguments, tensors: Sequence[object] | None = None) -> Any:
        """What modes and classes, or else its kernels, make of the operation; `tensors` are those among the arguments, where known."""
        if tensors is None:
            tensors = tensors_in(args)
        if self.bumps and self.schema.is_mutable:
            for t in tensors_in([value for a, value in zip(self.schema.arguments, args) if a.is_write]):
                frontend.bump(t)
                note_write(t)
        if _python_dispatch.looked_at(tensors):
            found = _python_dispatch.shown(self.overload, tensors, *self.spelled(args))
            if found is not NotImplemented:
                return found
        of, kernel = _thread.instead
        if of is self:
            _thread.instead = None, None  # what it calls in turn has its own kernels
        else:
            key = backend_of(tensors)
            kernel = self.kernel(key or "BackendSelect", EXPLICIT, IMPLICIT)
            if kernel is None and key in FALLBACKS and FALLBACKS[key].function is not fallthrough_kernel:
                given, named = self.spelled(args)
                return self.returned(FALLBACKS[key].function(self.overload, *given, **named))
            if kernel is None:
                raise NotImplementedError(self._missing(key))
        return self.called(kernel, args)

    def _missing(self, key: str) -> str:
        if key == "Meta":
            return (f"{self.qualname}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
                    "registered. "
                    "You may have run into this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in "
                    "order to use this operator with those APIs you'll need to add a fake impl. Please see the following for next steps:  "
                    "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html")
        known = f"[{', '.join([k for k, v in self.kernels.items() if v])}]."
        if not key:
            return ("There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no fallback "
                    "function is "
                    f"registered for schema {self.qualname}.  This usually means that this function requires a non-empty list of Tensors, "
                    f"or that you (the operator writer) forgot to register a fallback function.  Available functions are {known}")
        return (f"Could not run '{self.qualname}' with arguments from the '{key}' backend. This could be because the operator doesn't "
                "exist "
                "for this backend, or was omitted during the selective/custom build process (if using custom build). "
                f"'{self.qualname}' is only available for these backends: {known}")

    def called(self, kernel: Kernel, args: tuple[object, ...]) -> Any:
        """What a kernel makes of the operation."""
        if kernel.whole:
            return self.returned(kernel.function(*args))
        given, named = self.spelled(args)
        return self.returned(kernel.function(*given, **named))

    def returned(self, result: object) -> Any:
        """What a kernel returned, as the schema says.

        Raises:
            RuntimeError, TypeError: it cannot be that.
        """
        returns = self.schema.returns
        try:
            if len(returns) == 1:
                return returns[0].type.fit(result)
            if not returns:
                if result is None:
                    return None
                raise Misfit(f"Expected PythonKernelHolder for {self.qualname} to return None but it returned something else instead.")
            if not isinstance(result, (tuple, list)) or len(result) != len(returns):
                kind = result[0] if isinstance(result, tuple) and len(result) == 1 else result
                raise TypeError(f"Object of type '{type(kind).__name__}' is not an instance of 'sequence'")
            return tuple([r.type.fit(x) for r, x in zip(returns, result)])
        except Misfit as e:
            raise RuntimeError(str(e)) from None

    def _without_formula(self, args: tuple[Tensor, ...]) -> Tensor:
        """The operation where nobody said what its gradient is: that of its kernel, if it has one, with a warning."""
        result = self.below_autograd(args)
        of_unknown_gradient(self.qualname, tensors_in(args), tensors_in(result))
        return result


class ThroughPacket(Operator):
    """The door of an operation for calls of all its overloads together, which show these to those who look."""

    def __init__(self, operator: Operator, packet: OpOverloadPacket) -> None:
        Door.__init__(self, operator.rec, frontend)
        self.operator, self.packet = operator, packet
        self.params, self.run, self.spelled = operator.params, operator.run, operator.spelled  # type: ignore[method-assign]
        self.carry_out = self.rest = operator.carry_out  # type: ignore[method-assign]

    def public(self, inplace: bool) -> Fn:
        """All overloads."""
        return self.packet


def recording(args: Sequence[object]) -> bool:
    """Whether operations are recorded, and one of the arguments requires grad."""
    return grad_mode() is GradMode.ENABLED and any([t._node is not None for t in tensors_in(args)])


def _arrays(value: Tensor) -> np.ndarray:
    return value._data if isinstance(value, TensorRef) else [_arrays(x) for x in value] if isinstance(value, list) else value


def _record(schema: FunctionSchema) -> Record:
    """The record of an operation, made from its schema."""
    full = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")

    def spell(a: Argument) -> str:
        lists = "[]" if a.type.is_list else "?" * bool(a.type.wrappers)
        kind = "Tensor" + lists if a.type.is_tensor else a.type.spelled.replace("Sym", "")
        return f"{kind} {a.name}" + ("=None" if a.default is not ... else "")

    returns = [("Tensor[]" if r.type.is_list else "Tensor") if r.type.is_tensor else "Any" for r in schema.returns]
    named = ", ".join([f"{r} result{i}" for i, r in enumerate(returns)])
    body = type(full, (), {"batch": staticmethod(lambda F, call: NotImplemented)})
    space, _, name = schema.name.partition("::")
    text = f"{full}({listed(schema.arguments, spell)}) -> {returns[0] if len(returns) == 1 else f'({named})'}"
    rec = Record(body, text, family="custom", alias=(), promotion="none", result="numpy", quiet="float", broadcasts=False, method=False,
                 inplace=False, out=False, varargs=None, namespace="library", differentiable=False, dtypes=None, complex="analytic",
                 node=f"GeneratedBackwardFor_{space}_{name}_{schema.overload_name or 'default'}Backward")
    rec.takes_inplace = 0  # an argument of this name is one like others
    return rec


# -- all of them ------------------------------------------------------------------------------------------------------------------------


def register(operator: Operator) -> None:
    """From now on programs find the operation."""
    overload = operator.overload
    space = namespace(overload.namespace)
    with _lock:
        OPERATORS[operator.qualname] = operator
        RECORDS[operator.qualname] = operator.rec
        frontend.functions[operator.qualname] = overload
        packet = vars(space).get(overload.name_)
        if packet is None or packet.own is None:
            packet = OpOverloadPacket(overload.name_, None, overload.namespace)
            packet.own, packet._function = {}, _Overloads(packet)
            setattr(space, overload.name_, packet)
        packet.own[overload.overload] = overload
        packet._function.doors[overload.overload] = ThroughPacket(operator, packet)


def unregister(operator: Operator) -> None:
    """Undoes `register`."""
    overload = operator.overload
    space = namespace(overload.namespace)
    with _lock:
        if OPERATORS.get(operator.qualname) is not operator:
            return
        del OPERATORS[operator.qualname], RECORDS[operator.qualname], frontend.functions[operator.qualname]
        packet = vars(space)[overload.name_]
        del packet.own[overload.overload], packet._function.doors[overload.overload]
        if not packet.own:
            delattr(space, overload.name_)
    changed()


class _Overloads:
    """Calls the first overload that the arguments fit."""

    def __init__(self, packet: OpOverloadPacket) -> None:
        self.packet = packet
        self.doors: dict[str, ThroughPacket] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Tensor:
        doors = list(self.doors.values())
        if len(doors) == 1:
            return doors[0](doors[0].operator.bind(args, kwargs))
        misfits = []
        for door in doors:
            try:
                bound = door.operator.bind(args, kwargs)
            except RuntimeError as e:
                misfits.append(f"{e}\n")
                continue
            return door(bound)
        raise RuntimeError("Overloaded torch operator invoked from Python failed to match any schema:\n" + "\n".join(misfits) + "\n\n")


def lookup(qualname: str) -> Operator:
    """The operation of a full name.

    Raises:
        ValueError: it is no full name.
        AttributeError: there is no such operation.
    """
    space, name = parse_qualname(qualname)
    found = OPERATORS.get(qualname.removesuffix(".default"))
    if found is None:
        overload = getattr(getattr(namespace(space), name.partition(".")[0]), name.partition(".")[2] or "default")
        raise ValueError(f"{overload} is no operation that was registered here")
    return found


def parse_qualname(qualname: str) -> tuple[str, str]:
    """(namespace, name).

    Raises:
        ValueError: it is no full name.
    """
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
                         "torch.library APIs must consist of a namespace and a name, e.g. aten::sin")
    return parts[0], parts[1]


def memory_of(values: Sequence[object]) -> Iterator[int]:
    """The blocks of memory that tensors lie in."""
    for t in tensors_in(values):
        if t._k.device.type != "meta":
            yield id(owner_of(t._data))


def check_aliases(name: str, args: Sequence[object], result: object, function: Fn) -> None:
    """Raises torch's error where a result lies in the memory of an argument, or of another result."""
    seen = set(memory_of(args))
    for block in memory_of(result if isinstance(result, tuple) else (result,)):
        if block in seen:
            raise RuntimeError(
                f"{name} (with implementation in {inspect.getmodule(function)}): The output of this custom operator (1) must not also be "
                "an "
                "input to this custom operator and (2) may not alias any inputs to this custom operator or other returns. The most common "
                "way "
                "to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a clone of "
                "the "
                "offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y.")
        seen.add(block)


shown_in("torchcompat.library", fallthrough_kernel)
