"""Weights as direction and length (Salimans and Kingma, 2016), by a hook that computes them before each call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograd_tape import warned
from ..parameter import Parameter, is_lazy
from ._hooks import undone
from torchcompat.nn.modules.module import Module

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The 2-norm of `v` over all dimensions but `dim`, which all others keep with size 1; over all where dim is -1."""
    if dim == -1:
        return v.pow(2).sum().sqrt()
    return v.pow(2).sum(dim=[d for d in range(v.dim()) if d != dim], keepdim=True).sqrt()


def weight_of(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """g * v / |v|."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook: sets `name` from `name_g` and `name_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight."""
        return weight_of(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> "WeightNorm":
        """Puts the hook on a module and splits its weight."""
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                             "before applying weight normalization")
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Makes the weight an ordinary parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: tuple[Tensor, ...]) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Splits a weight into direction and length; `parametrizations.weight_norm` is the newer way.

    Args:
        module: the module.
        name: its weight.
        dim: one length for each index of this dimension; one in all where None.
    """
    warned.warn("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.", FutureWarning)
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undoes `weight_norm`."""
    if undone(module, lambda hook: isinstance(hook, WeightNorm) and hook.name == name):
        return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
