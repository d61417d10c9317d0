"""Modules as functions: functional_call, stack_module_state, and batch norm without running statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

from autograd_tape.annotations import Keywords
from .._tensor import Tensor, frontend
from ..nn.utils.stateless import _functional_call
from .._calls.shown import shown_in

if TYPE_CHECKING:
    from torchcompat.nn.modules.module import Module


def functional_call(module: Module, parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]], args: object = None,
                    kwargs: Keywords | None = None, *, tie_weights: bool = True, strict: bool = False) -> Tensor:
    """`module(*args, **kwargs)` with other parameters and buffers.

    Args:
        parameter_and_buffer_dicts: tensors by dotted name, or several such dicts without common names.
        args, kwargs: of the call; a single argument need not be in a tuple.
        tie_weights: a tensor given for one of several names of a shared parameter is used for all of them.
        strict: all names must be given, and no others.

    >>> import torchcompat as torch
    >>> layer = torch.nn.Linear(1, 1)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 1), "bias": torch.zeros(1)}, torch.tensor([[3.]]))
    tensor([[3.]])
    """
    tables = parameter_and_buffer_dicts
    if not isinstance(tables, dict):
        if not isinstance(tables, Sequence) or not all(isinstance(d, dict) for d in tables):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries" if isinstance(tables, Sequence) else
                             f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(tables)}")
        names = [k for d in tables for k in d]
        repeated = sorted({k for k in names if names.count(k) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        tables = {k: v for d in tables for k, v in d.items()}
    return _functional_call(module, tables, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Any) -> tuple[Keywords, Keywords]:
    """The parameters, and the buffers, of modules of one kind, stacked along dimension 0 under their names: for vmap over an ensemble.

    >>> import torchcompat as torch
    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 3) for _ in range(4)])
    >>> parameters["weight"].shape
    torch.Size([4, 3, 2])
    """
    if not len(models):
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(tables: list[dict[str, Tensor]], leaves: bool) -> dict[str, Tensor]:
        found = {}
        for name in tables[0]:
            each = [t[name] for t in tables]
            flags = {t.requires_grad for t in each}
            if leaves and len(flags) > 1:
                raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
            value = frontend.stack([t.detach() for t in each]) if leaves else frontend.stack(each)
            found[name] = value.requires_grad_(flags.pop()) if leaves else value
        return found

    return stacked([dict(m.named_parameters()) for m in models], True), stacked([dict(m.named_buffers()) for m in models], False)


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Makes every batch norm inside a module, and itself, compute with the statistics of the batch, in place: running statistics cannot
    be changed inside vmap."""
    for module in root.modules():
        if type(module).__name__.find("BatchNorm") >= 0:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


shown_in("torchcompat.func", functional_call, replace_all_batch_norm_modules_, stack_module_state)
