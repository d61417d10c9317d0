"""Library: operations and kernels that belong together, and can be taken away together."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from typing import Any
from collections.abc import Callable

from autograd_tape.annotations import Fn
from autograd_tape.dtypes import Device
from autograd_tape.held import tensors_in
from autograd_tape.locks import fork_safe_lock
from autograd_tape.ops import RECORDS

from ..dispatch import DispatchKey, Handler, exclude_keys, handler_of, passing_handlers, register_op
from .._calls.aten import OpOverload, overload_of
from .._calls.keys import KEYS, WITH_FALLBACK, DispatchKeySet, reaching
from .operator import (
    BACKENDS, EXPLICIT, FALLBACKS, IMPLICIT, OPERATORS, Kernel, Operator, backend_of, fallthrough_kernel, register, unregister,
)
from .schema import FunctionSchema, parse_schema
from .tag import Tag, as_tags
from .._calls.shown import shown_in
from torchcompat._tensor import Tensor

OUTER = {"Tracer": DispatchKey.Tracing, "Functionalize": DispatchKey.Functionalize, "FuncTorchBatched": DispatchKey.Batched,
         "AutocastCPU": DispatchKey.AutocastCPU, "AutocastCUDA": DispatchKey.AutocastGPU}
"""Keys outside of Autograd, whose kernels are handlers of the door."""
HANDLED = {**OUTER, "Autograd": DispatchKey.Autograd, "AutogradCPU": DispatchKey.Autograd, "CPU": DispatchKey.Backend_CPU,
           "CUDA": DispatchKey.Backend_CUDA, "PrivateUse1": DispatchKey.Backend_Ascend, "Meta": DispatchKey.Backend_Meta,
           EXPLICIT: DispatchKey.CompositeExplicit, IMPLICIT: DispatchKey.Autograd}
"""Those of operations that are not registered here, which all are."""
_definitions: dict[str, str] = {}  # where the only library of kind DEF of a namespace was made
_defined: dict[str, str] = {}  # where an operation was
_lock = fork_safe_lock()


def device_key(device_type: str) -> str:
    """The key of a type of device; "default" for all devices.

    Raises:
        RuntimeError: there is no such device.
    """
    kind = "" if device_type == "default" else Device(device_type).type
    return BACKENDS.get(kind, kind.upper()) if kind else EXPLICIT


class Library:
    """Operations of a namespace, and kernels of operations. What it registered is taken away when it is destroyed, or garbage.

    >>> import torchcompat as torch
    >>> lib = Library("doc_library", "DEF")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: x * 2, "CPU")
    >>> torch.ops.doc_library.twice(torch.ones(2))
    tensor([2., 2.])
    >>> lib._destroy()

    Args:
        ns: the namespace; "aten" for the operations that are there.
        kind: "DEF" for the one that defines a namespace, "FRAGMENT" for more operations of it, "IMPL" for kernels alone.
        dispatch_key: the key of kernels for which none is given.

    Raises:
        ValueError: the kind is another, or the namespace must not be defined.
        RuntimeError: the namespace is defined already.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "_" and kind != "IMPL":
            raise RuntimeError(f"TORCH_LIBRARY_{kind}: cannot define TORCH_LIBRARY_{kind} with the wildcard namespace _ (every "
                               f"TORCH_LIBRARY_{kind} defines operators for a distinct namespace!) Did you mean to use TORCH_LIBRARY_IMPL "
                               "instead?")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        frame = sys._getframe(1)
        self._source = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        if kind == "DEF":
            with _lock:
                if ns in _definitions:
                    raise RuntimeError(
                        f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions in a "
                        "single TORCH_LIBRARY block.  If you were trying to specify implementations, consider using TORCH_LIBRARY_IMPL "
                        "(which "
                        "can be duplicated).  If you really intended to define operators for a single namespace in a distributed way, you "
                        "can "
                        "use TORCH_LIBRARY_FRAGMENT to explicitly indicate this.  Previous registration of TORCH_LIBRARY was registered at "
                        f"{_definitions[ns]}; latest registration was registered at {self._source}")
                _definitions[ns] = self._source
        self._undo: list[Callable[[], Any]] = [lambda: _definitions.pop(ns)] if kind == "DEF" else []
        self._alive = True
        weakref.finalize(self, _undone, self._undo).atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def _check_alive(self) -> None:
        if not self._alive:
            raise AssertionError("Library object has been destroyed")

    def define(self, schema: str, alias_analysis: str = "", *, tags: object = ()) -> str:
        """Defines an operation: "sin(Tensor x) -> Tensor". Returns its name.

        Raises:
            RuntimeError: the schema cannot be read, the operation is there, or the library is for kernels alone.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        self._check_alive()
        given = as_tags(tags)
        read = parse_schema(schema)
        _check_tagged(read, given)
        if self.kind == "IMPL":
            raise RuntimeError(f'def("{read.name}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All def()s should be '
                               "placed in the (unique) TORCH_LIBRARY block for their namespace.  (Error occurred while processing "
                               "TORCH_LIBRARY_IMPL "
                               f"block at {self._source})")
        name = read.name.removeprefix(f"{self.ns}::")
        full = FunctionSchema(f"{self.ns}::{name}", read.overload_name, read.arguments, read.returns)
        operator = Operator(full, given)
        if operator.qualname in RECORDS:
            raise RuntimeError(f"Tried to register an operator ({full}) with the same name and overload name multiple times. Each "
                               "overload's schema "
                               "should only be registered with a single call to def(). Duplicate registration: registered at "
                               f"{self._source}. "
                               f"Original registration: registered at {_defined.get(operator.qualname)}")
        register(operator)
        _defined[operator.qualname] = self._source
        self._undo.append(lambda: unregister(operator))
        return name + (f".{read.overload_name}" if read.overload_name else "")

    def impl(self, op_name: str | OpOverload, fn: Fn, dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = True) -> None:
        """Has `fn` carry out an operation at a key; without a key it says what the operation is made of, its gradient too.

        Args:
            with_keyset: `fn` gets what is left of the walk as its first argument.
            allow_override: whether a kernel that is there may be replaced.

        Raises:
            TypeError: `fn` cannot be called.
            RuntimeError: there is no such key, or a kernel for it and `allow_override` is False.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key
        if not isinstance(op_name, (str, OpOverload)):
            raise RuntimeError(f"impl should be passed either a name or an OpOverload object as the first argument, got {type(op_name)}")
        name = (op_name if isinstance(op_name, str) else op_name.name()).rpartition("::")[2]
        operator = OPERATORS.get(f"{self.ns}::{name}")
        if not allow_override and operator is not None and operator.kernels.get(key or IMPLICIT):
            raise RuntimeError(f"This is not allowed since there's already a kernel registered from python overriding {name}'s behavior "
                               f"for {key} "
                               f"dispatch key and {self.ns} namespace.")
        if key == "Meta" and operator is not None and operator.kernels.get(IMPLICIT):
            raise RuntimeError(f"We should not register a meta kernel directly to the operator '{name}', because it has a "
                               "CompositeImplicitAutograd kernel in core. Instead we should let the operator decompose, and ensure that "
                               "we have "
                               "meta kernels for the base ops that it decomposes into.")
        self._check_alive()
        key = key or IMPLICIT
        if key not in KEYS:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        self._impl(name, _told(fn, key) if with_keyset else fn, key)

    def _impl(self, name: str, fn: Fn, key: str, whole: bool = False) -> None:
        """Registers a kernel; a `whole` one gets all arguments by position."""
        operator = OPERATORS.get(f"{self.ns}::{name}")
        if operator is None or key in OUTER:
            handler = _handle(f"{self.ns}::{name}", fn, key)
            self._undo.append(handler.unregister)
            return
        kernel = Kernel(key, fn, whole, self._source)
        with _lock:
            stack = operator.kernels.setdefault(key, [])
            stack.append(kernel)
        self._undo.append(lambda: stack.remove(kernel))

    def fallback(self, fn: Fn, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Has `fn(op, *args, **kwargs)` carry out, at a key, all operations that have no kernel there; of a library of namespace "_".

        Args:
            with_keyset: `fn` gets what is left of the walk as its first argument.

        Raises:
            RuntimeError: the namespace is not "_", there is no such key, or the key has a fallback already.
        """
        key = dispatch_key or self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(f'Fallback can only be registered using library fragment on the global namespace "_" but it is {self.ns}')
        if not key:
            raise AssertionError("dispatch_key must not be empty for fallback")
        self._check_alive()
        if key not in KEYS:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        with _lock:
            before = FALLBACKS.get(key)
            if before is not None or key in WITH_FALLBACK:
                where = "torch itself" if before is None else before.source
                raise RuntimeError(f"Tried to register multiple backend fallbacks for the same dispatch key {key}; previous registration "
                                   f"registered at {where}, new registration registered at {self._source}")
            FALLBACKS[key] = Kernel(key, _told(fn, key, 1) if with_keyset else fn, source=self._source)
        self._undo.append(lambda: FALLBACKS.pop(key))

    def _register_fake(self, op_name: str, fn: Fn, _stacklevel: int = 1, *, allow_override: bool = True) -> None:
        """Registers what makes results for tensors without data."""
        frame = sys._getframe(_stacklevel)
        kernel = meta_kernel(f"{self.ns}::{op_name}", fn, f"{frame.f_code.co_filename}:{frame.f_lineno}")
        self.impl(op_name, kernel, "Meta", allow_override=allow_override)

    def _destroy(self) -> None:
        """Takes away what the library registered."""
        self._alive = False
        _undone(self._undo)


shown_in("torchcompat.library", Library)


def _told(fn: Fn, key: str, lead: int = 0) -> Fn:
    """A kernel that is told first what is left of the walk; `lead` of its arguments come before the operation's."""
    def kernel(*args: Any, **kwargs: Any) -> Tensor:
        return fn(reaching(key, backend_of(tensors_in(args[lead:] + tuple(kwargs.values())))), *args, **kwargs)

    return kernel


def _undone(undo: list[Fn]) -> None:
    while undo:
        undo.pop()()


def _record_name(qualname: str) -> str:
    """The name of the record of an operation; a name of ATen stands for the record that it is the name of."""
    name = qualname if qualname in RECORDS else qualname.rpartition("::")[2].partition(".")[0]
    return name if name in RECORDS else next((n for n, r in RECORDS.items() if r.torch_name == name), name)


def _handle(qualname: str, fn: Fn, key: str) -> Handler:
    """A handler of the door for an operation."""
    handled = HANDLED.get(key)
    if handled is None:
        raise NotImplementedError(f"kernels for the key {key} are not supported for '{qualname}', which was not defined by a program")
    return register_op(_record_name(qualname), handled)(fn)


# -- kernels as values --------------------------------------------------------------------------------------------------------------------


class SafeKernelFunction:
    """A kernel that `torch.library.get_kernel` found: what carried out an operation at a key when it was asked for."""

    def __init__(self, function: Fn, source: str) -> None:
        self._function, self._source = function, source

    def call_boxed(self, keyset: DispatchKeySet, /, *args: Tensor | int, **kwargs: int) -> Tensor:
        """Calls it; `keyset` is what a kernel that asks for one gets, and else of no consequence."""
        if not isinstance(keyset, DispatchKeySet):
            raise TypeError(f"call_boxed(): the first argument must be a torch.DispatchKeySet, not {type(keyset).__name__}")
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='registered at {self._source}')"


SafeKernelFunction.__name__ = SafeKernelFunction.__qualname__ = "_SafeKernelFunction"


def computed_kernel(qualname: str, key: str) -> SafeKernelFunction:
    """The kernel that carries out an operation at a key.

    Raises:
        RuntimeError: there is no such operation, or no kernel.
    """
    space, _, name = qualname.partition("::")
    operator = OPERATORS.get(qualname.removesuffix(".default"))
    if operator is not None:
        inner = () if key in OUTER else ("Autograd", IMPLICIT) if key.startswith("Autograd") else (EXPLICIT, IMPLICIT)
        kernel = operator.kernel(key, *inner)
        if kernel is None:
            raise RuntimeError(f"no kernel for {key} for {qualname}")
        return SafeKernelFunction(lambda *args, **kwargs: operator.called(kernel, operator.bind(args, kwargs)), kernel.source)
    handled, record = HANDLED.get(key), _record_name(qualname)
    if space != "aten" or record not in RECORDS:
        raise RuntimeError(f"operator {qualname} does not exist")
    if handled is None:
        raise RuntimeError(f"no kernel for {key} for {qualname}")
    found = handler_of(record, handled)
    if found is not None:
        return SafeKernelFunction(found.function, "a library")
    overload = overload_of(*(name.partition(".")[0], name.partition(".")[2] or "default"))
    below = exclude_keys(DispatchKey.Autograd) if handled > DispatchKey.Autograd else contextlib.nullcontext()

    def own(*args: Tensor, **kwargs: int) -> Tensor:
        with passing_handlers(record, handled), below:
            return overload(*args, **kwargs)

    return SafeKernelFunction(own, "torch itself")


# -- fakes --------------------------------------------------------------------------------------------------------------------------------


def _none() -> None:
    """Outside of a fake there is no context."""


class _Thread(threading.local):
    context: Callable[[], Any] = staticmethod(_none)  # what `get_ctx` calls


_thread = _Thread()


def meta_kernel(qualname: str, fn: Fn, source: str) -> Fn:
    """A fake as the kernel for meta tensors."""
    def refuse() -> object:
        raise RuntimeError(f"{qualname} ({source}): You're trying to run this operator with meta Tensors (as opposed to FakeTensors), but "
                           "this "
                           "operator may return an output Tensor with data-dependent shape. Meta Tensors don't support operators with "
                           "outputs "
                           "that have data-dependent shapes but FakeTensors do. If your operator does not return an output with "
                           "data-dependent "
                           "shape, make sure the FakeTensor and/or meta kernel does not call torch.library.get_ctx(). Otherwise, please "
                           "use "
                           "FakeTensors.")

    def kernel(*args: object, **kwargs: object) -> Tensor | None:
        before, _thread.context = _thread.context, refuse
        try:
            return fn(*args, **kwargs)
        finally:
            _thread.context = before

    return kernel


def get_ctx() -> Any:
    """The context of the fake that is being called; None outside of fakes.

    Raises:
        RuntimeError: inside a fake, since results whose shape depends on values cannot be made without these.
    """
    return _thread.context()


# -- tags ---------------------------------------------------------------------------------------------------------------------------------


def _check_tagged(schema: FunctionSchema, tags: tuple[object, ...]) -> None:
    """Raises where an operation does not return what its tag says that it changes."""
    for tag in set(tags) & {Tag.inplace, Tag.out}:
        changed = [a for a in schema.arguments if a.is_write]
        wrong = ([r.alias_info for r in schema.returns] != [a.alias_info for a in changed] or not changed
                 or any([a.type.spelled != "Tensor" for a in changed]))
        if tag is Tag.inplace and (wrong or changed != [schema.arguments[0]]):
            raise ValueError("Schema tagged with torch.Tag.inplace must return the first mutable argument (return must alias the first "
                             "argument). "
                             f"Got: {schema}")
        if tag is Tag.out and (wrong or not all([a.kwarg_only for a in changed])):
            raise ValueError(f"Schema tagged with torch.Tag.out must return all mutable arguments (got {len(changed)} mutable args but "
                             f"{len(schema.returns)} returns). Got: {schema}")


__all__ = ["Library", "device_key", "fallthrough_kernel", "get_ctx", "meta_kernel"]


shown_in("torchcompat.library", get_ctx)
