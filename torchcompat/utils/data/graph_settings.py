"""Settings of all pipes of a graph: shares of workers, shuffling, seeds."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torchcompat as torch

from autograd_tape import warned
from .datapipes.iter.sharding import SHARDING_PRIORITIES, _ShardingIterDataPipe
from .graph import traverse_dps

if TYPE_CHECKING:
    from torchcompat.random import Generator

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: dict[int, tuple[Any, Any]]) -> list[Any]:
    """The pipes of a graph, each once."""
    found: dict[int, Any] = {}

    def walk(part: dict[int, tuple[Any, Any]]) -> None:
        for key, (pipe, below) in part.items():
            if key not in found:
                found[key] = pipe
                walk(below)

    walk(graph)
    return list(found.values())


def _has_methods(pipe: Any, *names: str) -> bool:
    return all(hasattr(pipe, name) and inspect.ismethod(getattr(pipe, name)) for name in names)


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = SHARDING_PRIORITIES.DEFAULT) -> Any:
    """Has the pipes that share out elements (`sharding_filter`) keep one share; RuntimeError where one stands behind another."""
    def walk(part: dict[int, tuple[Any, Any]], before: Any) -> None:
        for pipe, below in part.values():
            applied = before
            if isinstance(pipe, _ShardingIterDataPipe) or _has_methods(pipe, "apply_sharding"):
                if before is not None:
                    raise RuntimeError("Sharding twice on a single pipeline is likely unintended and will cause data loss. Sharding "
                                       f"already applied to {before} while trying to apply to {pipe}")
                groups = {} if len(inspect.signature(pipe.apply_sharding).parameters) < 3 else {"sharding_group": sharding_group}
                pipe.apply_sharding(num_of_instances, instance_id, **groups)
                applied = pipe
            walk(below, applied)

    walk(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Has the pipes that shuffle do so, or not; adds one, with a warning, where there is none to do so."""
    if shuffle is None:
        return datapipe
    shufflers = [pipe for pipe in get_all_graph_pipes(traverse_dps(datapipe)) if _has_methods(pipe, "set_shuffle", "set_seed")]
    if not shufflers and shuffle:
        warned.warn("`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware that the "
                    "default buffer size might not be sufficient for your task.")
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Generator) -> Any:
    """The old name of `apply_random_seed`."""
    warned.warn("`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. Please use "
                "`apply_random_seed` instead.", FutureWarning)
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: Any, rng: Generator) -> Any:
    """Gives each pipe that draws random numbers (`set_seed`) a seed of its own."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has_methods(pipe, "set_seed"):
            pipe.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe
