"""Parameters computed from others: a module's tensor becomes a property that calls one or more modules on an original."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from autograd_tape.annotations import Keywords
import torchcompat as torch
from torchcompat._tensor import Tensor

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict[tuple[int, str], object] = {}


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """A block in which each parametrized tensor is computed only once."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_same(what: str, flag: str, names: tuple[str, str], old: Tensor, new: Tensor) -> None:
    for attribute in ("dtype", "shape"):
        a, b = getattr(old, attribute), getattr(new, attribute)
        if a != b:
            raise ValueError(f"{what} the {attribute} of the tensor, unless {flag} flag is enabled.\n{names[0].format(attribute)}: {a}\n"
                             f"{names[1].format(attribute)}: {b}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other.

    Args:
        modules: the parametrizations.
        original: the tensor as it was; `right_inverse` of the parametrizations, last first, gives what is kept of it.
        unsafe: dtype and shape may change.

    Attributes:
        original: what is kept; original0, original1, ... where the right inverse returned several tensors.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with torch.no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                             f"{type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            for attribute in ("dtype", "device"):
                if getattr(original, attribute) != getattr(new, attribute):
                    raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {attribute}.\noriginal.{attribute}: "
                                     f"{getattr(original, attribute)}\nright_inverse(original).{attribute}: {getattr(new, attribute)}")
            original.data = new.detach()
            _register(self, "original", original)
        else:
            for i, tensor in enumerate(new):
                if not isinstance(tensor, Tensor):
                    raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                                     f"{i} of the sequence with type {type(tensor).__name__}.")
                if isinstance(original, Parameter):
                    tensor = Parameter(tensor, original.requires_grad)
                _register(self, f"original{i}", tensor.requires_grad_(original.requires_grad))
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            for attribute, old in (("dtype", dtype), ("shape", shape)):
                if getattr(result, attribute) != old:
                    raise ValueError(f"Registering a parametrization may not change the {attribute} of the tensor, unless `unsafe` flag is "
                                     f"enabled.\nunparametrized {attribute}: {old}\nparametrized {attribute}: {getattr(result, attribute)}")

    def right_inverse(self, value: Tensor) -> None:
        """Changes what is kept such that the parametrizations give `value`; RuntimeError where one has no `right_inverse`."""
        with torch.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                values, names = [value], ["original"]
            else:
                if not isinstance(value, Sequence):
                    raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
                if len(value) != self.ntensors:
                    raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                                     f"length "
                                     f"{len(value)}.")
                values, names = list(value), [f"original{i}" for i in range(self.ntensors)]
            for i, (name, tensor) in enumerate(zip(names, values)):
                kept = getattr(self, name)
                if kept.dtype != tensor.dtype:
                    who = "The tensor" if self.is_tensor else f"Tensor {i}"
                    raise ValueError(f"{who} returned by `right_inverse` has dtype {tensor.dtype} while `{name}` has dtype {kept.dtype}")
                kept.data = tensor.detach()

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        first, *rest = self
        x = first(*[getattr(self, "original" if self.is_tensor else f"original{i}") for i in range(self.ntensors)])
        for module in rest:
            x = module(x)
        return x


def _inject_class(module: Module) -> None:
    """Gives the module a class of its own, which may then have properties."""
    cls = type(module)

    def refuse_state(self: object) -> object:
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\nhttps://pytorch.org/tutorials/"
                           "beginner/saving_loading_models.html#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")

    def deepcopy(self: Any, memo: dict[int, Any]) -> object:
        if id(self) not in memo:
            replica = memo[id(self)] = self.__new__(type(self))
            replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return memo[id(self)]

    members: Keywords = {"__getstate__": refuse_state}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, name: str) -> None:
    def get(self: Any) -> object:
        compute = self.parametrizations[name]
        if not _cache_enabled:
            return compute()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = compute()
        return _cache[key]

    def set(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set))


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Makes a parameter or buffer of `module` what `parametrization` computes from it.

    Args:
        module: the module, which gets a class of its own.
        tensor_name: the parameter or buffer; or one that is parametrized already, to add a further step.
        parametrization: a module from tensor to tensor. With a method `right_inverse`, the tensor can be assigned to.
        unsafe: dtype and shape may change, and nothing is computed now to see whether they do.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            if not isinstance(after, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
            names = (f"module.{tensor_name}.{{0}}", f"parametrization(module.{tensor_name}).{{0}}")
            _check_same("Registering a parametrization may not change", "the `unsafe`", names, before, after)
            if hasattr(parametrization, "right_inverse"):
                with contextlib.suppress(NotImplementedError):
                    back = parametrization.right_inverse(after)
                    if not isinstance(back, Tensor):
                        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
                    for attribute in ("dtype", "shape"):
                        a, b = getattr(before, attribute), getattr(back, attribute)
                        if a != b:
                            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {attribute} as "
                                             f"module.{tensor_name}, unless the `unsafe` flag is "
                                             f"enabled.\nmodule.{tensor_name}.{attribute}: "
                                             f"{a}\nreturned {attribute}: {b}")
        steps = module.parametrizations[tensor_name]
        steps.append(parametrization)
        steps.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        steps = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = steps
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module has parametrizations, or one of `tensor_name`."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a parametrized tensor an ordinary one.

    Args:
        module: the module.
        tensor_name: the tensor.
        leave_parametrized: it keeps its value; otherwise it becomes the original.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    steps = module.parametrizations[tensor_name]
    if steps.is_tensor:
        tensor = steps.original
        if leave_parametrized:
            with torch.no_grad():
                tensor.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        tensor = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
                         "tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The module's class, without the one that parametrizations gave it."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> Module:
    """Gives `to_module` the parametrizations of `from_module`, and the tensors they compute from."""
    if is_parametrized(from_module):
        for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
            steps = from_module.parametrizations[name]
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name)))
            for step in steps:
                register_parametrization(to_module, name, step)
            for original in [n for n in (*steps._parameters, *steps._buffers) if n.startswith("original")]:
                setattr(to_module.parametrizations[name], original, getattr(steps, original))
    return to_module
