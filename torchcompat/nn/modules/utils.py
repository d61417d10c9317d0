"""Numbers repeated to the length that a layer's dimensions need; torch's own names, which other packages import."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from autograd_tape.annotations import Arguments


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], Arguments]:
    """A function that repeats a number n times, and makes anything iterable a tuple."""

    def parse(x: int | tuple[float, ...]) -> tuple[float, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = _ntuple(1, "_single"), _ntuple(2, "_pair"), _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[int], n: int) -> tuple[int, ...]:
    """The items from the last to the first, each n times: padding in the order that `pad` takes it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Sequence[int | None], defaults: Sequence[int]) -> Any:
    """Sizes of an output, with those of the input's last dimensions in the place of None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size):])]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix, such as "module.", from the names of a state dict and of its metadata, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key.startswith(prefix) or key == prefix.replace(".", "")):
            metadata[key[len(prefix):]] = metadata.pop(key)
