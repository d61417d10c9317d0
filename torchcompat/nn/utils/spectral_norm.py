"""Weights divided by their largest singular value (Miyato et al., 2018), by a hook that computes them before each call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograd_tape.annotations import Keywords
import torchcompat as torch

from .. import functional as F
from ..modules.conv import _ConvTransposeNd
from ..parameter import Parameter, is_lazy
from ._hooks import undone
from torchcompat.nn.modules.module import Module

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

__all__ = ["SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm", "spectral_norm"]


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight with one row for each index of a dimension."""
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.reshape(weight.size(0), -1)


class SpectralNorm:
    """The hook: sets `name` from `name_orig`, whose singular vectors `name_u` and `name_v` it follows by power iteration in training."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with one row for each output."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight divided; the vectors are moved in place before."""
        weight, u, v = [getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v")]
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with torch.no_grad():
                for _ in range(self.n_power_iterations):
                    F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps, out=u)
            # Copies: the next iteration writes to the buffers, while this graph still needs them.
            u, v = u.clone(memory_format=torch.contiguous_format), v.clone(memory_format=torch.contiguous_format)
        divided: Tensor = weight / torch.dot(u, torch.mv(matrix, v))
        return divided

    def remove(self, module: Module) -> None:
        """Makes the divided weight an ordinary parameter."""
        with torch.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, sigma: Tensor) -> Tensor:
        """The v of which u is the direction of `matrix @ v`, and `u @ matrix @ v` is sigma."""
        v = torch.linalg.multi_dot([matrix.t().mm(matrix).pinverse(), matrix.t(), u.unsqueeze(1)]).squeeze(1)
        return v.mul_(sigma / torch.dot(u, torch.mv(matrix, v)))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Puts the hook on a module, with hooks that keep state dicts of older versions readable."""
        if any([isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()]):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight: Any = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                             "before applying spectral normalization")
        with torch.no_grad():
            u, v = [F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in hook.reshape_weight_to_matrix(weight).shape]
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)  # initializers look for it
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Reads state dicts from before version 1, which have the divided weight in the place of v."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, state_dict: Keywords, prefix: str, local_metadata: Keywords, strict: bool, missing_keys: list[str],
                 unexpected_keys: list[str], error_msgs: list[str]) -> None:
        key = prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version")
        if version is not None and version >= 1:
            return
        if version is None and all([key + suffix in state_dict for suffix in ("_orig", "_u", "_v")]) and key not in state_dict:
            return  # of this version, but for its metadata
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            missing_keys.extend(missing * strict)
            return
        with torch.no_grad():
            orig, weight = state_dict[key + "_orig"], state_dict.pop(key)
            state_dict[key + "_v"] = self.fn._solve_v_and_rescale(
                self.fn.reshape_weight_to_matrix(orig), state_dict[key + "_u"], (orig / weight).mean())


class SpectralNormStateDictHook:
    """Notes the version in the metadata of state dicts."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Keywords, prefix: str, local_metadata: Keywords) -> None:
        versions, key = local_metadata.setdefault("spectral_norm", {}), self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Module:
    """Divides a weight by its largest singular value; `parametrizations.spectral_norm` is the newer way.

    Args:
        module: the module.
        name: its weight, which becomes `<name>_orig`, beside buffers `<name>_u` and `<name>_v`.
        n_power_iterations: steps of power iteration at each call in training.
        eps: lower bound of norms.
        dim: the dimension of outputs; 0, or 1 for transposed convolutions, where None.
    """
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undoes `spectral_norm`: the divided weight becomes an ordinary parameter."""
    if not undone(module, lambda hook: isinstance(hook, SpectralNorm) and hook.name == name):
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks, cls in ((module._state_dict_hooks, SpectralNormStateDictHook),
                       (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook)):
        for key, found in hooks.items():
            found = getattr(found, "hook", found)
            if isinstance(found, cls) and found.fn.name == name:
                del hooks[key]
                break
    return module
