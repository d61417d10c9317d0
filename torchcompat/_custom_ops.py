"""torch._custom_ops: operations of programs, defined and carried out by the names that `torch.library` has replaced.

>>> import torchcompat as torch
>>> @custom_op("doc_old::thrice")
... def thrice(x: torch.Tensor) -> torch.Tensor: ...
>>> @impl("doc_old::thrice", device_types="cpu")
... def thrice_on_cpu(x: torch.Tensor) -> torch.Tensor:
...     return x * 3
>>> torch.ops.doc_old.thrice(torch.ones(2))
tensor([3., 3.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from autograd_tape.annotations import Fn

from . import library
from ._calls.absent import absences as _absences
from ._library.operator import lookup
from .autograd.function import FunctionCtx
from .library import get_ctx as get_ctx, infer_schema as infer_schema

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]


class _Context(FunctionCtx):
    saved: object


_saving: dict[str, Fn] = {}
"""What operations save for their gradients, by their names."""


def _decorator(register: Callable[[Fn], object], function: Fn | None) -> Fn:
    def decorate(function: Fn) -> Fn:
        register(function)
        return function

    return decorate if function is None else decorate(function)


def custom_op(qualname: str, func_or_schema: Fn | str | None = None) -> Fn | None:
    """Defines an operation "namespace::name", by a schema or by a function with type hints, which is not called. A decorator without one.

    Raises:
        ValueError: the function is called something else, or its hints say no schema.
    """
    if isinstance(func_or_schema, str):
        library.define(qualname, func_or_schema)
        return None

    def register(function: Fn) -> None:
        name = qualname.rpartition("::")[2]
        if function.__name__ != name:
            raise ValueError(f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
                             f"'{function.__name__}'. Please either change the name of `func` or the qualname that is passed to "
                             "`custom_op`")
        library.define(qualname, infer_schema(function, mutates_args=()))

    return _decorator(register, func_or_schema)


def impl(qualname: str, *, device_types: str | Sequence[str] = ("cpu", "cuda"), func: Fn | None = None) -> Fn:
    """Has a function carry out an operation on types of devices."""
    return _decorator(lambda function: library.impl(qualname, device_types, function), func)


def impl_abstract(qualname: str, *, func: Fn | None = None) -> Fn:
    """Has a function make the results for tensors without data."""
    return library.register_fake(qualname, func, _stacklevel=2)


def impl_save_for_backward(qualname: str, *, func: Fn | None = None) -> Fn:
    """Has `func(inputs, output)` give what the gradient needs; the inputs by their names."""
    return _decorator(lambda function: _saving.__setitem__(qualname, function), func)


def impl_backward(qualname: str, output_differentiability: Sequence[bool] | None = None, *, func: Fn | None = None) -> Fn:
    """Gives an operation a gradient: `func(ctx, saved, *grads)` returns a dict of them by the names of inputs."""
    names = [argument.name for argument in lookup(qualname).schema.arguments]

    def setup(ctx: _Context, inputs: tuple[object, ...], output: object) -> None:
        from types import SimpleNamespace

        if output_differentiability is not None:
            outputs = output if isinstance(output, tuple) else (output,)
            ctx.mark_non_differentiable(*[o for o, known in zip(outputs, output_differentiability) if not known])
        ctx.saved = _saving[qualname](SimpleNamespace(**dict(zip(names, inputs))), output)

    def register(function: Fn) -> None:
        def backward(ctx: _Context, *grads: object) -> tuple[object, ...]:
            found = function(ctx, ctx.saved, *grads)
            return tuple([found.get(name) for name in names])

        library.register_autograd(qualname, backward, setup_context=setup)

    return _decorator(register, func)


_absences(__name__)
