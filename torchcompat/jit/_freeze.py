"""Modules whose parameters are constants."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from torchcompat.nn import Module

from ._script import RecursiveScriptModule, ScriptMethod, ScriptModule


def freeze(mod: object, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """A scripted module without parameters, buffers and submodules: what `mod` computes with those that it has now.

    Args:
        preserved_attrs: attributes, and methods besides `forward`, that stay.

    Raises:
        RuntimeError: `mod` is not scripted, or in training mode.
    """
    warnings.warn("`torch.jit.freeze` is deprecated. Please use `torch.compile` instead.", DeprecationWarning, stacklevel=1)
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
                           "'nn.Module'.")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before "
                           "freezing.")
    kept = [n for n in preserved_attrs or () if not hasattr(mod, n)]
    if kept:
        raise RuntimeError(f"Attribute '{kept[0]}' is not an attribute of the module")
    inner = copy.deepcopy(mod)
    for one in inner.parameters():
        one.requires_grad = False
    made = RecursiveScriptModule._of_class(inner._class, inner.original_name)
    made._frozen = inner
    for name in ("forward", *(preserved_attrs or ())):
        if name in inner._methods:
            made._methods[name] = _of(inner, name, made)
        elif name in inner._modules:
            made._modules[name] = inner._modules[name]
        elif name in inner._parameters or name in inner._buffers:
            made._buffers[name] = getattr(inner, name).detach()
        elif name != "forward":
            made._fields[name] = getattr(inner, name)
    if "training" not in (preserved_attrs or ()):
        made.__dict__.pop("training", None)
    return made


class _of(ScriptMethod):
    """A method of a frozen module: that of the module behind it."""

    def __init__(self, inner: Any, name: str, owner: Module) -> None:
        self.inner = inner._methods[name]
        super().__init__(self.inner.function, name, owner)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.inner(*args, **kwargs)

    @property
    def node(self) -> Any:
        """Its source in the language of `_code`."""
        return self.inner.node


def run_frozen_optimizations(mod: object, optimize_numerics: bool = True, preserved_methods: list[str] | None = None) -> None:
    """Nothing: operations are carried out as they stand."""


def optimize_for_inference(mod: object, other_methods: list[str] | None = None) -> Any:
    """A frozen module of a scripted one.

    Raises:
        RuntimeError: `mod` is not scripted.
    """
    warnings.warn("`torch.jit.optimize_for_inference` is deprecated. Please use `torch.compile` instead.", DeprecationWarning, stacklevel=1)
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to "
                           "script "
                           "your 'nn.Module'.")
    return freeze(mod.eval(), preserved_attrs=other_methods) if "training" in mod.__dict__ else mod
