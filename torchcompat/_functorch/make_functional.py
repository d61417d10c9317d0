"""Modules as functions of their parameters and buffers, which lie in tuples.

>>> import torchcompat as torch
>>> from torchcompat._functorch.make_functional import make_functional
>>> function, parameters = make_functional(torch.nn.Linear(1, 1))
>>> function((torch.ones(1, 1), torch.zeros(1)), torch.tensor([[3.]]))
tensor([[3.]])
"""

from __future__ import annotations

import copy
from typing import Any
from collections.abc import Callable, Iterable, Mapping, Sequence

from autograd_tape.annotations import DeviceLike, Fn, Keywords
from .._calls.absent import absences as _absences
from .._tensor import Tensor, frontend
from ..nn import Module, Parameter
from ..nn.utils.stateless import tables

Names = Mapping[str, Sequence[str]]
"""The names that a tensor has in a module by the first of them."""
_State = tuple[tuple[Tensor, ...], tuple[str, ...], dict[str, list[str]]]


def _taken(mod: Module, members: Callable[..., Iterable[tuple[str, Tensor]]], kind: Callable[[Tensor], Tensor]) -> _State:
    """The tensors among members, their first names and all their names; in the module, tensors without memory take their places."""
    names: dict[int, list[str]] = {}
    found = list(members(remove_duplicate=False))
    for name, value in found:
        names.setdefault(id(value), []).append(name)
    firsts = {name: value for name, value in found if names[id(value)][0] == name}
    places = tables(mod)
    for value in firsts.values():
        hollow = kind(frontend.empty_like(value, device="meta"))
        for each in names[id(value)]:
            table, key = places[each]
            table[key] = hollow
    return tuple(firsts.values()), tuple(firsts), {name: names[id(value)] for name, value in firsts.items()}


def extract_weights(mod: Module) -> _State:
    """Takes the parameters out of a module: them, their names, and all names of each by its first."""
    return _taken(mod, mod.named_parameters, Parameter)


def extract_buffers(mod: Module) -> _State:
    """Takes the buffers out of a module: see `extract_weights`."""
    return _taken(mod, mod.named_buffers, lambda x: x)


def load_weights(mod: Module, names: Sequence[str], params: Sequence[Tensor], as_params: bool = False) -> None:
    """Puts tensors into a module in the place of its parameters, as parameters where `as_params`."""
    places = tables(mod)
    for name, value in zip(names, params):
        table, key = places[name]
        table[key] = Parameter(value) if as_params else value


def load_buffers(mod: Module, names: Sequence[str], buffers: Sequence[Tensor], as_params: bool = False) -> None:
    """Puts tensors into a module in the place of its buffers."""
    load_weights(mod, names, buffers)


def load_state(model: Module, weights: Sequence[Tensor], weight_names: Sequence[str], buffers: Sequence[Tensor] = (),
               buffer_names: Sequence[str] = ()) -> Module:
    """The module, with tensors in the place of its parameters and buffers.

    Raises:
        AssertionError: not as many names as tensors.
    """
    if len(weight_names) != len(weights):
        raise AssertionError(f"len(weight_names)={len(weight_names)} != len(weights)={len(weights)}")
    load_weights(model, weight_names, weights)
    if len(buffers) > 0:
        if len(buffer_names) != len(buffers):
            raise AssertionError(f"len(buffer_names)={len(buffer_names)} != len(buffers)={len(buffers)}")
        load_buffers(model, buffer_names, buffers)
    return model


def _swap_state(mod: Module, names_map: Names, elems: Iterable[Tensor]) -> list[Tensor]:
    """Puts tensors into a module under all names of each, and returns those that were there."""
    places, before = tables(mod), []
    for names, value in zip(names_map.values(), elems):
        before.append(places[names[0]][0][places[names[0]][1]])
        for name in names:
            table, key = places[name]
            table[key] = value
    return before


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters, its buffers and its inputs."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...], param_names_map: Names,
                 buffer_names_map: Names) -> None:
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> Any:
        model = copy.deepcopy(model)
        params, param_names, param_map = extract_weights(model)
        buffers, buffer_names, buffer_map = extract_buffers(model)
        if disable_autograd_tracking:
            _untracked(params)
        return FunctionalModuleWithBuffers(model, param_names, buffer_names, param_map, buffer_map), params, buffers

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: object, **kwargs: object) -> Any:
        """What the module gives with these parameters and buffers."""
        return _called(self.stateless_model, self.all_names_map, (*params, *buffers), args, kwargs)


class FunctionalModule(Module):
    """A module as a function of its parameters and its inputs."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], names_map: Names) -> None:
        super().__init__()
        self.stateless_model, self.param_names, self.names_map = stateless_model, param_names, names_map

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> Any:
        model = copy.deepcopy(model)
        params, names, names_map = extract_weights(model)
        if disable_autograd_tracking:
            _untracked(params)
        return FunctionalModule(model, names, names_map), params

    def forward(self, params: Iterable[Tensor], *args: object, **kwargs: object) -> Any:
        """What the module gives with these parameters."""
        return _called(self.stateless_model, self.names_map, params, args, kwargs)


def _untracked(params: tuple[Tensor, ...]) -> None:
    for param in params:
        param.requires_grad_(False)


def _called(model: Module, names: Names, state: Iterable[Tensor], args: tuple[object, ...], kwargs: Keywords) -> Any:
    """What a module gives that has other tensors meanwhile."""
    before = _swap_state(model, names, state)
    try:
        return model(*args, **kwargs)
    finally:
        _swap_state(model, names, before)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """(a function of parameters and inputs that does what `model` does, copies of its parameters).

    Args:
        disable_autograd_tracking: the parameters require no gradients.

    Raises:
        RuntimeError: there are buffers.
    """
    if list(model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule._create_from(model, disable_autograd_tracking=disable_autograd_tracking)


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> Any:
    """(a function of parameters, buffers and inputs that does what `model` does, copies of its parameters, and of its buffers)."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking=disable_autograd_tracking)


def transpose_stack(tuple_of_tuple_of_tensors: Iterable[Sequence[Tensor]]) -> tuple[Tensor, ...]:
    """The tensors that stand at the same place of each tuple, stacked, without history."""
    return tuple([frontend.stack(list(column)).detach() for column in zip(*tuple_of_tuple_of_tensors)])


def combine_state_for_ensemble(models: Sequence[Module]) -> Any:
    """(a function of parameters, buffers and inputs for vmap, the stacked parameters of the modules, their stacked buffers).

    Raises:
        RuntimeError: no modules; not all train, or evaluate; they are of several classes.
    """
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*[make_functional_with_buffers(model) for model in models])
    return functions[0], transpose_stack(params), transpose_stack(buffers)


def make_functional_deprecated_v1(model: Module) -> tuple[tuple[Tensor, ...], Fn, tuple[str, ...]]:
    """(the parameters of a module, which loses them; a function of parameters and of a tuple of inputs; the names of the parameters).

    Raises:
        RuntimeError: there are buffers.
    """
    if list(model.buffers()):
        raise RuntimeError("make_functional_deprecated_v1(model): `model` has buffers. Please use "
                           "make_functional_with_buffers_deprecated_v1(model) instead.")
    weights, names, _ = extract_weights(model)

    def function(weights: tuple[Tensor, ...], data: tuple[object, ...]) -> Any:
        return load_state(copy.deepcopy(model), weights, names)(*data)

    return weights, function, names


def make_functional_with_buffers_deprecated_v1(model: Module) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], Fn, tuple[str, ...],
                                                                      tuple[str, ...]]:
    """`make_functional_deprecated_v1` of a module with buffers."""
    weights, names, _ = extract_weights(model)
    buffers, buffer_names, _ = extract_buffers(model)

    def function(weights: tuple[Tensor, ...], buffers: tuple[Tensor, ...], data: tuple[object, ...]) -> Any:
        return load_state(copy.deepcopy(model), weights, names, buffers, buffer_names)(*data)

    return weights, buffers, function, names, buffer_names


def functional_init(model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: DeviceLike = "cpu") -> Callable[..., Any]:
    """A function of what modules of a class are made with that gives what `make_functional_deprecated_v1` does: of one, or, for
    `ensemble_shape` (n,), of n, whose parameters are stacked."""
    return _initialized(model_class, ensemble_shape, device, make_functional_deprecated_v1, 1)


def functional_init_with_buffers(model_class: type[Module], ensemble_shape: tuple[int, ...] = (),
                                 device: DeviceLike = "cpu") -> Callable[..., Any]:
    """`functional_init` for modules with buffers; of one module, parameters alone are taken."""
    return _initialized(model_class, ensemble_shape, device, make_functional_with_buffers_deprecated_v1, 2)


def _initialized(model_class: type[Module], ensemble_shape: tuple[int, ...], device: DeviceLike, split: Fn, count: int) -> Fn:
    """What `functional_init` gives; the first `count` of what `split` gives of a module are tuples of tensors."""

    def initialized(*args: object, **kwargs: object) -> Any:
        if len(ensemble_shape) >= 2:
            raise ValueError("NYI: ensemble_shape with more than 1 element")
        if not ensemble_shape:
            return make_functional_deprecated_v1(model_class(*args, **kwargs).to(device))
        if ensemble_shape[0] <= 0:
            raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0])]
        rest = split(model_class(*args, **kwargs))[count:]
        return *[transpose_stack(each) for each in zip(*[split(m)[:count] for m in models])], *rest

    return initialized


_absences(__name__)
