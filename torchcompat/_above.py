"""What tensors, their front end and their engine ask of modules above their own."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class Above:
    """Functions that higher modules put here when they are imported, or that `later` announces: the one way to them from below."""

    convert: Callable[..., Any]
    parse_to: Callable[..., Any]
    rebuild: Callable[..., Any]
    """`_conversion`: `Tensor.to`, its arguments, and the function that pickles of tensors name."""
    legacy_tensor: Callable[..., Any]
    """`_legacy`: the constructor."""
    backward_of: Callable[..., None]
    """`autograd.engine`: `Tensor.backward`."""
    register_tensor_hook: Callable[..., Any]
    register_post_accumulate_hook: Callable[..., Any]
    retain_grad: Callable[..., None]
    """`autograd.hooks`."""
    to_mindspore: Callable[..., Any]
    """`interop`."""
    rebuilder: Callable[[str], Callable[..., Any]]
    """`_rebuild`: the functions that files name, by name."""

    def later(self, module: str, *names: str) -> None:
        """Announces functions of a module that is imported when one of them is first called."""
        def stand_in(name: str) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                function = getattr(import_module(f"{__package__}.{module}"), name)
                setattr(self, name, function)
                return function(*args, **kwargs)

            return call

        for name in names:
            setattr(self, name, stand_in(name))


above = Above()
