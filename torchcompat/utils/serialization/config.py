"""torch.utils.serialization.config: settings of `torch.load` and `torch.save`, for the whole process.

Settings are attributes of `load` and `save`, also by name: ``config.patch("load.mmap", True)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..._calls.absent import absences as _absences

if TYPE_CHECKING:
    from ...serialization import LoadEndianness


class _Settings:
    """Attributes that are there from the start; AttributeError for others."""

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"{__name__.replace('torchcompat', 'torch')}.{type(self).__name__}.{name} does not exist")
        super().__setattr__(name, value)


class _Load(_Settings):
    mmap: bool = False
    endianness: LoadEndianness | None = None
    mmap_flags: int | None = 2  # MAP_PRIVATE
    calculate_storage_offsets: bool = False


class _Save(_Settings):
    compute_crc32: bool = True
    use_pinned_memory_for_d2h: bool = False
    storage_alignment: int = 64


load, save = _Load(), _Save()


@contextmanager
def patch(name: str | dict[str, object] | None = None, value: object = None, **settings: object) -> Iterator[None]:
    """Sets settings for the length of a ``with`` block, or of a function: one by name, or a dictionary of them."""
    changes = dict(name) if isinstance(name, dict) else settings if name is None else {name: value, **settings}
    places = [(globals()[path.partition(".")[0]], path.partition(".")[2], new) for path, new in changes.items()]
    before = [(group, key, getattr(group, key)) for group, key, _ in places]
    try:
        for group, key, new in places:
            setattr(group, key, new)
        yield
    finally:
        for group, key, old in before:
            setattr(group, key, old)


_absences(__name__)
