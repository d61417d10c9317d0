"""Modules whose parameters get their shapes from the first input."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Self

from autograd_tape import warned
from autograd_tape.annotations import Keywords
from ..parameter import is_lazy
from .module import Module

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """To be put before a module class: `initialize_parameters(*args)` is called with the first call's arguments, then the module
    becomes one of `cls_to_become`."""

    cls_to_become: type | None = None

    def __init__(self, *args: object, **kwargs: bool) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        warned.warn("Lazy modules are a new feature under heavy development so changes to the API or functionality can happen at any "
                    "moment.")

    def _own(self) -> Any:
        return itertools.chain(self._parameters.items(), self._buffers.items())  # type: ignore[attr-defined]

    def _save_to_state_dict(self, destination: Keywords, prefix: str, keep_vars: bool) -> None:
        for name, t in self._own():
            if t is not None:
                destination[prefix + name] = t if is_lazy(t) or keep_vars else t.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *_: object) -> None:
        """What has no shape yet takes that of what is loaded."""
        for name, t in self._own():
            loaded = state_dict.get(prefix + name)
            if loaded is not None and t is not None and is_lazy(t) and not is_lazy(loaded):
                t.materialize(loaded.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters their shapes; subclasses define it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(t) for _, t in self._own())

    @staticmethod
    def _infer_parameters(module: Module, args: tuple[Tensor, ...], kwargs: Keywords | None = None) -> None:
        module.initialize_parameters(*args, **kwargs or {})
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Self:
        raise RuntimeError("Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
                           "correctly initialize the modules")
