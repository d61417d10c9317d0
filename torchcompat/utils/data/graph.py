"""The graph of the pipes that a pipe is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autograd_tape import warned
from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]


def _sources(pipe: Any, only_datapipe: bool) -> Iterator[Any]:
    """The pipes that a pipe's attributes hold, also in lists, tuples, sets and dicts, and in other objects unless `only_datapipe`."""
    seen, waiting = {id(pipe)}, [*vars(pipe).values()][::-1]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (IterDataPipe, MapDataPipe)):
            yield value
        elif isinstance(value, dict):
            waiting.extend([*value.values()][::-1])
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting.extend([*value][::-1])
        elif not only_datapipe and hasattr(value, "__dict__") and not isinstance(value, type):
            waiting.extend([*vars(value).values()][::-1])


def _graph(pipe: Any, only_datapipe: bool, above: frozenset[int]) -> dict[int, tuple[Any, Any]]:
    if not isinstance(pipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in above:
        return {}
    below: dict[int, tuple[Any, Any]] = {}
    for source in _sources(pipe, only_datapipe):
        below.update(_graph(source, only_datapipe, above | {id(pipe)}))
    return {id(pipe): (pipe, below)}


def traverse_dps(datapipe: Any) -> dict[int, tuple[Any, Any]]:
    """{id: (pipe, graph of what it is made of)}; RuntimeError for what is no pipe."""
    return _graph(datapipe, True, frozenset())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> dict[int, tuple[Any, Any]]:
    """The old name of `traverse_dps`; without `only_datapipe` it looks into other objects, too."""
    text = "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead."
    if not only_datapipe:
        text += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warned.warn(text, FutureWarning)
    return _graph(datapipe, bool(only_datapipe), frozenset())
