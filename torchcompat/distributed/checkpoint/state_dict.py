"""torch.distributed.checkpoint.state_dict: what a model is saved as and loaded from, by name; for models that one process holds.

>>> import torchcompat as torch
>>> from torchcompat.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
>>> model = torch.nn.Linear(2, 1)
>>> list(get_model_state_dict(model))
['weight', 'bias']
>>> set_model_state_dict(model, {"bias": torch.zeros(1)}, options=StateDictOptions(strict=False))
_IncompatibleKeys(missing_keys=['weight'], unexpected_keys=[])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograd_tape import warned

from ..._calls.absent import absences as _absences
from ..._tensor import Tensor
from ...nn.modules.module import Module, _IncompatibleKeys

if TYPE_CHECKING:
    from autograd_tape.annotations import Keywords

__all__ = ["StateDictOptions", "get_model_state_dict", "set_model_state_dict"]

_NO_GROUP = "Default process group has not been initialized, please make sure to call init_process_group."


@dataclass
class StateDictOptions:
    """How states are told: whole and on the CPU, without parameters that are not trained, by the names in the model or in its parts,
    all names there or not, from the first process to the others; and of optimizers, in one table."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def get_model_state_dict(model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None) -> Keywords:
    """The model's parameters and buffers by name, or those of some of its parts."""
    options = _checked(options)
    if submodules:
        warned.warn("Getting submodules only model/optim state_dict is deprecated and will be removed in 2.5. This feature can be achieved "
                    "by manually filtering out the state_dict returned from get_state_dict.", FutureWarning)
    found: Keywords = model.state_dict()
    if options.ignore_frozen_params:
        for name, parameter in model.named_parameters(remove_duplicate=False):
            if not parameter.requires_grad:
                found.pop(name, None)
    if submodules:
        prefixes = [name and f"{name}." for name, module in model.named_modules() if module in submodules]
        found = {name if options.keep_submodule_prefixes else name[len(prefix):]: value for name, value in found.items()
                 for prefix in prefixes if name.startswith(prefix)}
    if options.cpu_offload or options.full_state_dict:
        found = {name: value.cpu() if options.cpu_offload and isinstance(value, Tensor) else value for name, value in found.items()}
    return found


def set_model_state_dict(model: Module, model_state_dict: Keywords, *, options: StateDictOptions | None = None) -> _IncompatibleKeys:
    """Loads the model from parameters and buffers by name (or by the names in its parts, by part).

    With `full_state_dict`, `model_state_dict` is given what it lacks from the model.
    Raises:
        ValueError: processes are needed: to broadcast, or to say which of them has nothing to load, or where a model on "meta" is to be.
        RuntimeError: as `Module.load_state_dict`."""
    given, options = _by_name(model, model_state_dict), _checked(options)
    if not given and (options.strict or options.broadcast_from_rank0) and not (
            options.ignore_frozen_params or options.cpu_offload and options.full_state_dict) or options.broadcast_from_rank0:
        raise ValueError(_NO_GROUP)
    if not given:
        return _IncompatibleKeys({}, {})
    if not options.full_state_dict:
        return model.load_state_dict(given, strict=options.strict)
    own = {name: value for name, value in model.state_dict(keep_vars=True).items() if isinstance(value, Tensor)}
    places = {value.device for value in own.values() if value.dim() > 0}
    there = {place for place in places if place.type != "meta"}
    if not there:
        warned.warn("`_get_pg_default_device` will be deprecated, it only stays for backward-compatibility reason. If you need to find a "
                    "device for object collectives, please use `_get_object_coll_device`. If you need to query the device types supported "
                    "by group, please use `_device_capability(group)`. ")
        raise ValueError(_NO_GROUP)
    if len(there) > 1:
        raise ValueError("Multiple devices found")
    place, = there
    for name, value in own.items():
        held = given.get(name, value)
        given[name] = held.to(place) if isinstance(held, Tensor) and held is not value else held
    return model.load_state_dict(given, strict=options.strict, assign=places != there)


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    if options is not None and options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options or StateDictOptions()


def _by_name(model: Module, given: Keywords) -> Keywords:
    """The states of parts, each under its part, by their names in the model."""
    if not given or not isinstance(next(iter(given)), Module):
        return given
    warned.warn("Passing model_state_dict as a ``Dict[nn.Module, Dict[str, Any]]``is deprecated and will be removed in 2.5. If you need "
                "this feature, please preprocess the model_state_dict to achieve the same functionality.", FutureWarning)
    names = {module: name and f"{name}." for name, module in model.named_modules()}
    return {names[part] + name: value for part, state in given.items() for name, value in state.items()}  # type: ignore[index]


_absences(__name__)
