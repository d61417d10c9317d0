"""torch.Tag: what an operation is said to be."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

from autograd_tape.annotations import Arguments


class _Tag(IntEnum):
    """A property of an operation. `inplace` and `out` decide what it may return; the others are kept for whoever asks."""

    __str__ = Enum.__str__


_make: Any = _Tag  # the functional form of Enum
Tag: Any = _make("Tag", {name: nr for nr, name in enumerate((
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view "
    "maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order nondeterministic_bitwise "
    "nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy").split())}, module="torch")


def as_tags(tags: Any) -> Arguments:
    """One tag, several or None as a tuple."""
    return () if tags is None else (tags,) if isinstance(tags, Tag) else tuple(tags)
