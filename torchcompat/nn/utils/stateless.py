"""Calls of a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor
    from torchcompat.nn.modules.module import Module

from autograd_tape import warned
from autograd_tape.annotations import Keywords

__all__ = ["functional_call"]


def tables(module: Module) -> dict[str, tuple[dict, str]]:
    """From dotted name to the table that holds a parameter or buffer, and its key there."""
    found = {}
    for path, m in module.named_modules(remove_duplicate=False):
        for table in (m._parameters, m._buffers):
            for key, value in table.items():
                if value is not None:
                    found[f"{path}.{key}" if path else key] = (table, key)
    return found


def _with_tied(tensors: Keywords, tables: dict[str, tuple[Keywords, str]]) -> Keywords:
    """`tensors`, and the same ones for the other names of tensors that have several."""
    names: dict[int, list[str]] = {}
    for name, (table, key) in tables.items():
        names.setdefault(id(table[key]), []).append(name)
    result = dict(tensors)
    for tied in names.values():
        given = [name for name in tied if name in tensors]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using "
                             f"tie_weights=False")
        if given:
            result.update(dict.fromkeys(tied, tensors[given[0]]))
    return result


@contextlib.contextmanager
def _reparametrize_module(module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False, strict: bool = False,
                          stack_weights: bool = False) -> Iterator[None]:
    """A block in which `module` has the given tensors for its own; what it has made of them is in the dict afterwards."""
    places = tables(module)
    tensors = _with_tied(parameters_and_buffers, places) if tie_weights else parameters_and_buffers
    if strict:
        problems = [f"{what} key(s): {', '.join(map(repr, keys))}." for what, keys in
                    (("Unexpected", [k for k in tensors if k not in places]), ("Missing", [k for k in places if k not in tensors])) if keys]
        if problems:
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))
    changed = [(name, *places[name]) for name in tensors if name in places]
    own = [table[key] for _, table, key in changed]
    try:
        for name, table, key in changed:
            table[key] = tensors[name]
        yield
    finally:
        for (name, table, key), value in zip(changed, own):
            if name in parameters_and_buffers:
                parameters_and_buffers[name] = table[key]
            table[key] = value


def _functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None, kwargs: Keywords | None = None, *,
                     tie_weights: bool = True, strict: bool = False) -> Tensor:
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **kwargs or {})


def functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None, kwargs: Keywords | None = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """`module(*args, **kwargs)` with other parameters and buffers.

    Args:
        module: the module, as it was before after the call.
        parameters_and_buffers: tensors by dotted name; those left out stay the module's own.
        args, kwargs: of the call; a single argument need not be in a tuple.
        tie_weights: a tensor given for one of several names of a shared parameter is used for all of them.
        strict: all names must be given, and no others.

    >>> layer = torch.nn.Linear(1, 1)
    >>> torch.nn.utils.stateless._functional_call(layer, {"weight": torch.ones(1, 1), "bias": torch.zeros(1)}, torch.tensor([[3.0]]))
    tensor([[3.]])
    """
    warned.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of "
                "PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.", FutureWarning)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
