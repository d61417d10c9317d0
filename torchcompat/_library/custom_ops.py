"""custom_op: a function as an operation."""

from __future__ import annotations

import contextlib
import inspect
import logging
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Iterable, Iterator, Sequence

from autograd_tape import warned
from autograd_tape.annotations import Fn
from autograd_tape.calls import changed
from autograd_tape.dtypes import DType

from .._calls.autocast import is_autocast_available
from .autograd import Formula, autograd_kernel
from .infer_schema import infer_schema
from .libraries import Library, device_key, meta_kernel
from .operator import EXPLICIT, OPERATORS, check_aliases, lookup
from .schema import parse_schema
from .tag import Tag, as_tags
from .._calls.shown import shown_in

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

_logger = logging.getLogger(__name__)
_libraries: dict[str, Library] = {}
OPDEFS: dict[str, CustomOpDef] = {}
"""All that are not replaced, by their full names."""


class CustomOpDef:
    """An operation made of a function, and what else programs say of it: kernels by device, a fake, a gradient, rules."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Fn, tags: object = ()) -> None:
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._qualname, self._tags = f"{namespace}::{name}", as_tags(tags)
        parsed = parse_schema(name + schema)
        if Tag.out not in self._tags and any([a.kwarg_only and a.type.is_tensor for a in parsed.arguments]):
            raise NotImplementedError("custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: "
                                      f"{name}{schema}")
        if self._qualname in _libraries:
            _libraries.pop(self._qualname)._destroy()
        self._lib = _libraries[self._qualname] = Library(namespace, "FRAGMENT")
        self._lib.define(name + schema, tags=tuple(dict.fromkeys([*self._tags, Tag.pt2_compliant_tag])))
        self._operator = lookup(self._qualname)
        self._opoverload = self._operator.overload
        self._operator.bumps = True
        self._functions: dict[str | None, Fn] = {}  # by type of device
        self._disabled: set[str | None] = set()
        self._fake: Fn | None = None
        self._formula = Formula()
        self._lib._impl(name, autograd_kernel(self._operator, self._formula), "Autograd", whole=True)
        self._lib._impl(name, meta_kernel(self._qualname, self._faked, f"{__file__}:{self._faked.__code__.co_firstlineno}"), "Meta")
        OPDEFS[self._qualname] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._operator.call(*args, **kwargs)

    # -- kernels ----------------------------------------------------------------------------------------------------------

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable | None = None, /) -> Fn:
        """Has `fn` carry out the operation for types of devices, or with None for all that have no other.

        Raises:
            ValueError: the operation has neither tensors nor a device by which to choose.
        """
        schema = self._opoverload._schema
        if device_types is not None and not any([a.type.is_tensor for a in schema.arguments]):
            if not any([a.name == "device" and a.type.name == "Device" for a in schema.arguments]):
                raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")
            self._lib._impl(self._name, self._by_device, "BackendSelect", whole=True)

        def register(fn: Fn) -> Callable[..., Any]:
            for device in [device_types] if device_types is None or isinstance(device_types, str) else device_types:
                if device not in self._functions:
                    self._lib.impl(self._name, self._kernel(device), EXPLICIT if device is None else device_key(device))
                self._functions[device] = fn
            return fn

        return register if fn is None else register(fn)

    def _kernel(self, device: str | None) -> Fn:
        def kernel(*args: object, **kwargs: Any) -> object:
            function = self._init_fn if device in self._disabled else self._functions[device]
            result = function(*args, **kwargs)
            where = f"{self._name} (with implementation in {inspect.getmodule(function)}): An operator tagged with"
            if Tag.inplace in self._tags:
                if result is not args[0]:
                    raise RuntimeError(f"{where} torch.Tag.inplace must return its first argument.")
            elif Tag.out in self._tags:
                outs = self._outs(kwargs)
                given = (result,) if len(outs) == 1 else result
                if not isinstance(given, tuple) or len(given) != len(outs) or any([r is not o for r, o in zip(given, outs)]):
                    raise RuntimeError(f"{where} torch.Tag.out must return its mutable keyword-only arguments.")
            elif not self._opoverload._schema._is_view_op():
                check_aliases(self._name, (*args, *kwargs.values()), result, function)
            return result

        return kernel

    def _outs(self, kwargs: dict[str, Tensor]) -> tuple[Tensor, ...]:
        return tuple([kwargs[a.name] for a in self._opoverload._schema.arguments if a.is_write])

    def _by_device(self, *args: Any) -> Tensor:
        schema = self._opoverload._schema
        device = next(v for a, v in zip(schema.arguments, args) if a.name == "device").type
        if device not in self._functions:
            raise RuntimeError(f"{self._name} does not have a kernel registered for {device}. Please use register_kernel to do so.")
        given, named = self._operator.spelled(args)
        return self._kernel(device)(*given, **named)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside, a device's kernel is not called, but the function that the operation was made of; or it is called again."""
        verb = "enable" if enabled else "disable"
        before = device_type in self._disabled
        if device_type not in self._functions:
            _logger.warning("Attempted to %s kernel for %s but no kernel was registered for this device type.", verb, device_type)
        if before is not enabled:
            _logger.warning("Attempted to %s kernel for %s but it was already %sd.", verb, device_type, verb)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            (self._disabled.add if before else self._disabled.discard)(device_type)

    # -- fakes and gradients ------------------------------------------------------------------------------------------------

    def register_fake(self, fn: Fn, /) -> Fn:
        """Has `fn` make the results for tensors without data."""
        for tag in (Tag.inplace, Tag.out):
            if tag in self._tags:
                warned.warn(f"The fake registration for {self} is unnecessary. Custom ops tagged with torch.{tag} already get an "
                            "autogenerated fake kernel. The provided fake impl will be used instead.")
        self._fake = fn
        return fn

    def _faked(self, *args: object, **kwargs: Any) -> Any:
        if self._fake is not None:
            return self._fake(*args, **kwargs)
        schema = self._opoverload._schema
        if Tag.inplace in self._tags:
            return args[0]
        if Tag.out in self._tags:
            outs = self._outs(kwargs)
            return outs[0] if len(outs) == 1 else outs
        if schema.is_mutable and not schema.returns:
            return None
        raise RuntimeError(f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to work. "
                           f"Please use `{self._init_fn.__name__}.register_fake` to add an fake impl.")

    def register_autograd(self, backward: Fn, /, *, setup_context: Callable | None = None) -> None:
        """Gives the operation a gradient: `backward(ctx, *grads)` returns one per argument.

        Args:
            setup_context: called with ctx, inputs and output; saves what `backward` needs.

        Raises:
            RuntimeError: the operation changes its arguments, or returns nothing.
        """
        if Tag.out in self._tags:
            raise RuntimeError(f"Cannot register autograd formula for operator tagged with torch.Tag.out: {self}. Out variants do not "
                               "support "
                               "autograd.")
        schema = self._opoverload._schema
        if not schema.is_functional(allow_view=True):
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self} with schema {schema}. Please create a "
                               "functional operator and register an autograd formula for that.")
        self._formula.backward, self._formula.setup_context = backward, setup_context

    # -- rules ----------------------------------------------------------------------------------------------------------------

    def register_vmap(self, func: Callable | None = None) -> Fn:
        """Has `func(info, in_dims, *args)` carry out the operation for batches of examples; it returns (outputs, out_dims)."""
        return set_vmap(self._qualname, func)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Callable | None = None, /) -> Any:
        """Has `fn(mode or class, func, types, args, kwargs)` carry out the operation for a mode, or a class of tensors."""
        return set_rule(self._qualname, torch_dispatch_class, fn)

    def register_autocast(self, device_type: str, cast_inputs: DType) -> None:
        """Has autocast cast the floating-point tensors among the arguments.

        Raises:
            ValueError: there is no autocast for such a device.
        """
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        set_autocast(self._qualname, device_type, cast_inputs)


def _decorating(register: Callable[[Fn], Any], func: Fn | None) -> Fn:
    def decorate(func: Fn) -> Fn:
        register(func)
        return func

    return decorate if func is None else decorate(func)


def set_vmap(qualname: str, func: Fn | None) -> Fn:
    """`register_vmap` of the operation of a full name."""
    body = lookup(qualname).rec.body
    return _decorating(lambda func: setattr(body, "vmap", staticmethod(func)), func)


def set_rule(qualname: str, cls: type, func: Fn | None) -> Fn:
    """`register_torch_dispatch` of the operation of a full name."""
    rules = lookup(qualname).overload.rules
    return _decorating(lambda func: rules.__setitem__(cls, func), func)


def set_autocast(qualname: str, device_type: str, dtype: DType) -> None:
    """`register_autocast` of the operation of a full name."""
    if not is_autocast_available(device_type):
        raise ValueError(f"Device type '{device_type}' does not support autocast.")
    body: Any = lookup(qualname).rec.body
    body.amp = {**vars(body).get("amp", {}), device_type: dtype}
    changed()


def custom_op(name: str, fn: Callable | None = None, /, *, mutates_args: str | Iterable[str],
              device_types: str | Sequence[str] | None = None, schema: str | None = None, tags: object = None) -> Any:
    """Makes an operation of a function, which may do anything: call NumPy, or a library of one's own.

    >>> import numpy as np
    >>> import torchcompat as torch
    >>> @custom_op("doc::sin", mutates_args=())
    ... def sin(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(np.sin(x.numpy()))
    >>> sin.register_autograd(lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
    ...                       setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    >>> x = torch.zeros(2, requires_grad=True)
    >>> sin(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])

    Args:
        name: "namespace::name".
        mutates_args: the names of the arguments that it changes, or "unknown".
        device_types: what devices the function is for; None for all.
        schema: what it takes and returns, "(Tensor x) -> Tensor"; left out, this is told by the function's annotations.
        tags: `Tag.inplace` or `Tag.out`, where it returns what it changes.

    Raises:
        ValueError: the annotations, or `mutates_args` and `schema`, do not say it.
    """
    def make(fn: Fn) -> CustomOpDef:
        said = infer_schema(fn, mutates_args=mutates_args, tags=tags) if schema is None else schema
        namespace, opname = name.split("::")
        made = CustomOpDef(namespace, opname, said, fn, tags)
        if schema is not None:
            changes = {a.name for a in made._opoverload._schema.arguments if a.is_write}
            if changes != set(mutates_args):
                raise ValueError(f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema "
                                 f"suggests that the op mutates {changes}which is different from what was provided to us in "
                                 "`mutates_args`. "
                                 "Please make these consistent.")
        made.register_kernel(device_types)(fn)
        return made

    return make if fn is None else make(fn)


def opdef_of(op: Any) -> CustomOpDef | None:
    """What `custom_op` made of an operation, given by its name, or in one of its forms."""
    if isinstance(op, CustomOpDef):
        return op
    found = OPDEFS.get(op if isinstance(op, str) else op._name)
    return found if found is not None and OPERATORS.get(found._qualname) is found._operator else None


shown_in("torchcompat.library", custom_op)
