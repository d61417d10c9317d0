"""torch.layout and torch.memory_format."""

from __future__ import annotations


class _Named:
    """A named constant of torch."""

    __slots__ = ("name",)
    all: dict[tuple[str, str], "_Named"] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        _Named.all[type(self).__name__, name] = self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (_named, (type(self).__name__, self.name))


def _named(kind: str, name: str) -> _Named:
    return _Named.all[kind, name]


class layout(_Named):
    """How a tensor's elements are laid out."""

    __slots__ = ()


class nested_layout(layout):
    """What tells nested tensors apart, whose parts are strided."""

    __slots__ = ()


class memory_format(_Named):
    """The order of a strided tensor's dimensions in memory."""

    __slots__ = ()


strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged, _mkldnn = (
    layout(n) for n in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn"))
parts = nested_layout("strided")
contiguous_format, preserve_format, channels_last, channels_last_3d = (
    memory_format(n) for n in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"))
