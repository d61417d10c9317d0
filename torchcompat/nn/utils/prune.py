"""Weights with elements held at zero: a mask that a hook multiplies the original by before each call.

>>> import torchcompat as torch
>>> from torchcompat.nn.utils import prune
>>> layer = prune.l1_unstructured(torch.nn.Linear(2, 1, bias=False), "weight", amount=1)
>>> sorted(layer.state_dict()), int(layer.weight.count_nonzero())
(['weight_mask', 'weight_orig'], 1)
>>> prune.remove(layer, "weight").state_dict().keys()
odict_keys(['weight'])
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import torchcompat as torch

from ._hooks import undone
from .convert_parameters import parameters_to_vector
from torchcompat._tensor import Tensor
from torchcompat.nn.modules.module import Module


class BasePruningMethod(ABC):
    """A way to choose a mask, and the hook that applies it. Subclasses say `PRUNING_TYPE` and `compute_mask`.

    Attributes:
        PRUNING_TYPE: what of a tensor that was pruned before the method is shown: "unstructured" (the elements left, in a row),
            "structured" (the channels left along the method's `dim`) or "global" (all of it).
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of a tensor, of its shape.

        Args:
            t: the importance of each element.
            default_mask: the mask so far.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """The module's original parameter times its mask."""
        assert self._tensor_name is not None, f"Module {module} has to be pruned"
        mask, orig = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        pruned: Tensor = mask.to(dtype=orig.dtype) * orig
        return pruned

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> BasePruningMethod:
        """Prunes a parameter of a module, further where it was pruned before.

        Args:
            module: the module.
            name: its parameter, which becomes `<name>_orig`, beside a buffer `<name>_mask`.
            args, kwargs: what the method is made with.
            importance_scores: what the mask is chosen by, of the parameter's shape; the parameter itself where None.
        """
        method = cls._joined(module, name, cls(*args, **kwargs))
        orig = getattr(module, name)
        scores = orig if importance_scores is None else importance_scores
        assert scores.shape == orig.shape, (
            f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs {orig.shape}")
        first = not isinstance(method, PruningContainer)
        if first:
            module.register_parameter(name + "_orig", orig)
            del module._parameters[name]
            mask = torch.ones_like(orig)
        else:
            mask = getattr(module, name + "_mask").detach().clone(memory_format=torch.contiguous_format)
        try:
            module.register_buffer(name + "_mask", method.compute_mask(scores, default_mask=mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if first:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        return method

    @staticmethod
    def _joined(module: Module, name: str, method: BasePruningMethod) -> BasePruningMethod:
        """The method, in a container with those that pruned the parameter before, whose hook is taken away."""
        hooks = module._forward_pre_hooks
        before = [key for key, hook in hooks.items() if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
        assert len(before) < 2, f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
        old = hooks.pop(before[0]) if before else None
        method._tensor_name = name
        if old is None:
            return method
        container = old if isinstance(old, PruningContainer) else PruningContainer(old)
        container.add_pruning_method(method)
        return container

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A tensor times the mask that the method chooses for it, or for its importance."""
        scores = t if importance_scores is None else importance_scores
        assert scores.shape == t.shape, (
            f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}")
        return t * self.compute_mask(scores, default_mask=torch.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Makes the pruned numbers the parameter's own: `<name>` is a parameter again, without mask."""
        name = self._tensor_name
        assert name is not None, f"Module {module} has to be pruned before pruning can be removed"
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        orig: Any = module._parameters.pop(name + "_orig")
        orig.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, orig)


class PruningContainer(BasePruningMethod):
    """Methods of one parameter in the order in which they pruned it."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Adds a method, which has to be of the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                             f"{self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)  # type: ignore[operator]  # None is kept, as in torch

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int | slice) -> BasePruningMethod | tuple[BasePruningMethod, ...]:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far with that of the latest method, which is shown what its `PRUNING_TYPE` says."""
        method = self._pruning_methods[-1]
        left = _left(method, t, default_mask)
        mask = default_mask.to(dtype=t.dtype)
        part = method.compute_mask(t[left], default_mask=default_mask[left])
        mask[left] = part.to(dtype=mask.dtype)
        return mask


def _left(method: BasePruningMethod, t: Tensor, mask: Tensor) -> Tensor | tuple[slice | Tensor, ...]:
    """The index of what a method may still prune."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    everything: list[slice | Tensor] = [slice(None)] * t.dim()
    if method.PRUNING_TYPE == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
        dim = method.dim + t.dim() * (method.dim < 0)
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
        everything[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    elif method.PRUNING_TYPE != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    return tuple(everything)


class Identity(BasePruningMethod):
    """Prunes nothing: a mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """A method that prunes so many elements or channels.

    Args:
        amount: how many, or which part of those there are: an int, or a float from 0 to 1.
    """

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, n: int) -> int:
        """How many of n are to be pruned."""
        count = _compute_nparams_toprune(self.amount, n)
        _validate_pruning_amount(count, n)
        return count


class _Unstructured(_Amount):
    """Prunes single elements: those that `_first` names first."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if count:
            mask.view(-1)[self._first(t, count)] = 0
        return mask

    def _first(self, t: Tensor, count: int) -> Tensor:
        raise NotImplementedError


class RandomUnstructured(_Unstructured):
    """Prunes single elements at random; `amount` as of all methods that have one."""

    def _first(self, t: Tensor, count: int) -> Tensor:
        return torch.topk(torch.rand_like(t).view(-1), k=count)[1]

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes the single elements that are nearest to zero."""

    def _first(self, t: Tensor, count: int) -> Tensor:
        return torch.topk(torch.abs(t).view(-1), k=count, largest=False)[1]

    @classmethod
    def apply(cls, module: Module, name: str, amount: float,  # type: ignore[override]
              importance_scores: Tensor | None = None) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_Amount):
    """Prunes channels, that is, indices of a dimension."""

    PRUNING_TYPE = "structured"
    dim: int

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        n = t.shape[self.dim]
        count = self._count(n)
        kept = self._kept(t, n, count)
        if not count:
            return default_mask
        mask = torch.zeros_like(t)
        index: list[slice | Tensor | None] = [slice(None)] * t.dim()
        index[self.dim] = kept
        mask[tuple(index)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask

    def _kept(self, t: Tensor, n: int, count: int) -> Tensor | None:
        """Which of n channels are left when `count` of them are pruned."""
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prunes channels at random.

    Args:
        amount: how many, or which part.
        dim: the dimension.
    """

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Tensor, n: int, count: int) -> Tensor | None:
        if not count:
            return None  # and no random numbers are drawn
        drawn = torch.rand(n)
        return drawn > torch.kthvalue(drawn, k=count)[0]

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the channels with the least norm.

    Args:
        amount: how many, or which part.
        n: which norm, as `torch.norm` has it.
        dim: the dimension.
    """

    def __init__(self, amount: float, n: float | str, dim: int = -1) -> None:
        super().__init__(amount)
        self.n, self.dim = n, dim

    def _kept(self, t: Tensor, n: int, count: int) -> Tensor | None:
        return torch.topk(_compute_norm(t, self.n, self.dim), k=n - count, largest=True)[1]

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, n: float | str, dim: int,  # type: ignore[override]
              importance_scores: Tensor | None = None) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says, which has the parameter's shape."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        assert default_mask.shape == self.mask.shape, (
            f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        mask: Tensor = default_mask * self.mask.to(dtype=default_mask.dtype)
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name, mask=mask)


def identity(module: Module, name: str) -> Module:
    """Gives a parameter a mask of ones, and returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prunes `amount` elements of a parameter at random, and returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prunes the `amount` elements of a parameter nearest to zero, or of least importance, and returns the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prunes `amount` channels of a parameter at random, and returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: float | str, dim: int, importance_scores: Tensor | None = None) -> Module:
    """Prunes the `amount` channels of a parameter whose n-norm is least, and returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes a parameter by a mask of its shape, and returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
                        importance_scores: dict[tuple[Module, str], Tensor] | None = None, **kwargs: Any) -> None:
    """Prunes several parameters as if they were one.

    Args:
        parameters: (module, name) pairs; they are gone through more than once.
        pruning_method: a class whose `PRUNING_TYPE` is "unstructured".
        importance_scores: what takes the place of a parameter in the choice, by pair.
        kwargs: what the method is made with, such as `amount`.

    Raises:
        TypeError: the parameters cannot be gone through, the scores are no dict, or the method is not an unstructured one.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = parameters_to_vector([importance_scores.get((m, name), getattr(m, name)) for m, name in parameters])
    before = parameters_to_vector([getattr(m, name + "_mask", torch.ones_like(getattr(m, name))) for m, name in parameters])
    method = pruning_method(**kwargs)
    container = PruningContainer()
    container._tensor_name = method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
                        f"Found method {pruning_method} of type {method.PRUNING_TYPE}")
    container.add_pruning_method(method)
    mask, start = container.compute_mask(scores, before), 0
    for m, name in parameters:
        parameter = getattr(m, name)
        custom_from_mask(m, name, mask=mask[start:start + parameter.numel()].view_as(parameter))
        start += parameter.numel()


def remove(module: Module, name: str) -> Module:
    """Makes the pruned numbers of a parameter its own, and returns the module.

    Raises:
        ValueError: the parameter is not pruned.
    """
    if undone(module, lambda hook: isinstance(hook, BasePruningMethod) and hook._tensor_name == name):
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one within, is pruned."""
    return any([isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values()])


def _validate_pruning_amount_init(amount: object) -> None:
    """Refuses what is neither a count nor a part."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or not isinstance(amount, numbers.Integral) and float(amount) > 1:
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: float, tensor_size: int) -> None:
    """Refuses to prune more than there is."""
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _validate_structured_pruning(t: Tensor) -> None:
    """Refuses tensors without channels."""
    if t.dim() <= 1:
        raise ValueError(f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with "
                         f"{t.dim()} dims")


def _compute_nparams_toprune(amount: float, tensor_size: int) -> int:
    """How many of `tensor_size` an amount is."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    """Refuses a dimension that the tensor lacks."""
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Tensor, n: float | str, dim: int) -> Tensor:
    """The n-norm of each channel of a dimension."""
    dim += t.dim() * (dim < 0)
    norm: Tensor = torch.norm(t, p=n, dim=[d for d in range(t.dim()) if d != dim])
    return norm
