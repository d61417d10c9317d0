"""Numbers and names as people read them, on one line and safe to stand in a document."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape as _escape

if TYPE_CHECKING:
    from ..tensor import TensorRef


def plain(text: str) -> str:
    """Text without what would break a line or a document: control characters and the like are written as escapes.

    >>> plain("a\\nb\\x00")
    'a\\\\nb\\\\x00'
    """
    return text if text.isprintable() else "".join([c if c.isprintable() else ascii(c)[1:-1] for c in text])


def escape(text: str) -> str:
    """Text as it stands in HTML and SVG.

    >>> escape("<a & b>")
    '&lt;a &amp; b&gt;'
    """
    return _escape(plain(text))


def shortened(text: str, length: int = 40) -> str:
    """The begin of a long text, as it is shown: on one line.

    >>> shortened("a long\\nstory", 9)
    'a long\\\\n…'
    """
    text = plain(text)
    return text if len(text) <= length else text[:length - 1] + "…"


def columns(text: str) -> int:
    """How wide a text is in a font whose characters are equally wide: those of East Asia take two columns, accents none."""
    return len(text) if text.isascii() else sum([0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
                                                 for c in text])


def size_text(count: int | None) -> str:
    """A number of bytes; nothing where it is not known.

    >>> size_text(24), size_text(1536), size_text(5 << 20), size_text(None)
    ('24 B', '1.5 KiB', '5.0 MiB', '')
    """
    if count is None:
        return ""
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, 4)
    return f"{count / 1024 ** power:.1f} {('KiB', 'MiB', 'GiB', 'TiB')[power - 1]}"


def moved_text(when: str, collective: Any) -> str:
    """`backward all_reduce over data: 128 B`, of a `sharding.Collective`."""
    back = "" if when == "forward" else f"{when} "
    return f"{back}{collective.kind} over {', '.join(collective.axes)}: {size_text(round(collective.bytes))}"


def time_text(seconds: float | None) -> str:
    """A duration; nothing where it was not measured.

    >>> time_text(0.0000123), time_text(0.0123), time_text(12.3), time_text(None)
    ('12.3 us', '12.3 ms', '12.3 s', '')
    """
    if seconds is None:
        return ""
    if seconds < 0.9995e-3:
        return f"{seconds * 1e6:.1f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.9995 else f"{seconds:.1f} s"


def type_of(x: TensorRef) -> str:
    """`float32[2, 3]`."""
    return f"{x.dtype.name}{list(x.shape)}"


def plural(count: int, what: str) -> str:
    """A number of things.

    >>> plural(1, "entry"), plural(2, "entry"), plural(0, "input")
    ('1 entry', '2 entries', '0 inputs')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what[:-1]}ies" if what.endswith("y") else f"{count} {what}s"
