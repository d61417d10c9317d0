"""How tensors print: torch's text, character for character, from a NumPy array.

Numbers are laid out in three steps: a `_NumberFormat` is chosen from the numbers that will be shown, the array is written
row by row within the line width, and the suffixes (``size=``, ``dtype=``, ``grad_fn=`` ...) follow where they fit.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from autograd_tape.annotations import Keywords
from autograd_tape.dtypes import DType, float8_e8m0fnu

Array = npt.NDArray[Any]


class PrintOptions(SimpleNamespace):
    """The settings of `set_printoptions`."""

    precision: int
    threshold: float
    edgeitems: int
    linewidth: int
    sci_mode: bool | None


_PROFILES: dict[str, Keywords] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
options = PRINT_OPTS = PrintOptions(**_PROFILES["default"], sci_mode=None)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print, as ``torch.set_printoptions``.

    Args:
        precision: digits after the point (4).
        threshold: number of elements from which on the middle is left out (1000).
        edgeitems: elements shown at either end of a dimension then (3).
        linewidth: characters per line (80).
        profile: ``"default"``, ``"short"`` or ``"full"``, a set of the above; single arguments win over it.
        sci_mode: scientific notation always (True), never (False) or by the numbers (None); always set.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes = _PROFILES.get(profile, {}) if profile is not None else {}
    for name, value in {**changes, **{k: v for k, v in given.items() if v is not None}}.items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> Keywords:
    """The current settings, as keyword arguments of `set_printoptions`."""
    return dict(vars(options))


@contextlib.contextmanager
def printoptions(**changes: Any) -> Iterator[None]:
    """Change the settings of `set_printoptions` for the length of a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**changes)
    try:
        yield
    finally:
        set_printoptions(**before)


class _NumberFormat:
    """One width and one notation for all numbers of an array."""

    __slots__ = ("floating", "precision", "scientific", "whole", "width")

    def __init__(self, shown: Array) -> None:
        self.floating = shown.dtype.kind not in "biu"
        self.precision = options.precision
        self.whole = True
        self.scientific = False
        self.width = 1
        if not self.floating:
            self.width = max((len(str(value)) for value in shown.ravel().tolist()), default=1)
            return
        finite = shown[np.isfinite(shown) & (shown != 0)].astype(np.float64)
        if not finite.size:
            return
        size = np.abs(finite)
        smallest, largest = size.min(), size.max()
        self.whole = bool((finite == np.ceil(finite)).all())
        with np.errstate(over="ignore"):
            wide = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
        self.scientific = bool(wide) if options.sci_mode is None else options.sci_mode
        point = 0
        if self.scientific:
            pattern = f"%.{self.precision}e"
        elif self.whole:
            pattern, point = "%.0f", 1
        else:
            pattern = f"%.{self.precision}f"
        self.width = max(self.width, *(len(pattern % value) + point for value in finite.tolist()))

    def text(self, value: float) -> str:
        if not self.floating:
            text = str(value)
        elif self.scientific:
            text = f"{value:.{self.precision}e}"
        elif self.whole:
            text = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            text = f"{value:.{self.precision}f}"
        return text.rjust(self.width)


class _ComplexFormat:
    """Two `_NumberFormat`s, of the real and the imaginary parts."""

    __slots__ = ("imag", "real", "width")

    def __init__(self, shown: Array) -> None:
        self.real = _NumberFormat(shown.real)
        self.imag = _NumberFormat(shown.imag)
        self.width = self.real.width + self.imag.width + 1

    def text(self, value: complex) -> str:
        imag = self.imag.text(value.imag).lstrip() + "j"
        return self.real.text(value.real) + ("" if imag[0] in "+-" else "+") + imag


_Format = _NumberFormat | _ComplexFormat


def array_str(array: Array, indent: int = 0) -> str:
    """The nested brackets of an array of any shape, continuation lines indented by `indent`."""
    if array.size == 0:
        return "[]"
    least = 2.0**-127 if array.dtype == float8_e8m0fnu.np else None  # which has no zero, and takes its least number for it
    if array.dtype.isbuiltin != 1:  # elements that NumPy does not turn into Python numbers
        array = DType.by_np[array.dtype].numbers(array)
    summarize = array.size > options.threshold
    shown = _edges(array) if summarize else array
    if least is not None:
        shown = np.where(shown == least, 0, shown)
    style: _Format = _ComplexFormat(shown) if array.dtype.kind == "c" else _NumberFormat(shown)
    return _rows(array, indent, summarize, style)


def _tensor_str(self: Any, indent: int) -> str:
    """The elements of a tensor as its `repr` shows them, the later lines indented."""
    return array_str(self._data, indent) if self._data.size else "[]"


def _edges(array: Array) -> Array:
    """The elements that a summary shows."""
    edge = options.edgeitems
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            array = array.take([*range(edge), *range(length - edge, length)], axis)
    return array


def _rows(array: Array, indent: int, summarize: bool, style: _Format) -> str:
    if array.ndim == 0:
        return style.text(array.item())
    edge = options.edgeitems
    cut = summarize and len(array) > 2 * edge
    if array.ndim > 1:
        rows = [_rows(row, indent + 1, summarize, style) for row in (array[:edge] if cut else array)]
        if cut:
            rows.append("...")
            rows += [_rows(row, indent + 1, summarize, style) for row in array[len(array) - edge :]]
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"

    if summarize and not edge:
        items = ["..."]
    elif cut:
        items = [style.text(value) for value in array[:edge].tolist()]
        items.append(" ...")
        items += [style.text(value) for value in array[-edge:].tolist()]
    else:
        items = [style.text(value) for value in array.tolist()]
    per_line = max(1, (options.linewidth - indent) // (style.width + 2))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def tensor_str(
    array: Array | None,
    *,
    dtype_name: str,
    is_default_dtype: bool,
    device: str | None = None,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    shape: tuple[int, ...] | None = None,
    is_default_float: bool | None = None,
    class_name: str = "tensor",
    is_parameter: bool = False,
    tangent: str | None = None,
    contents: str | None = None,
    place: Sequence[str] = (),
) -> str:
    """The ``repr`` of a tensor.

    Args:
        array: the elements (bfloat16 and float8 as ml_dtypes arrays), or None for a tensor without any (meta): then `shape`.
        dtype_name: for example ``"torch.float64"``.
        is_default_dtype: whether the dtype goes without saying: the default float, its complex, int64 or bool.
        device: text of ``device='...'``, None for the default device.
        requires_grad: whether to say so; `grad_fn_name` says it better.
        grad_fn_name: class name of the node that made the tensor, for example ``"MulBackward0"``.
        is_default_float: whether the dtype is the default float, which alone goes without saying on empty and meta
            tensors; by default `is_default_dtype` and a floating dtype.
        class_name: name of a subclass, ``"tensor"`` for ``Tensor`` and ``Parameter``.
        is_parameter: whether a tensor of a subclass is also a parameter, which wraps it in ``Parameter(...)``.
        tangent: text of a forward-mode tangent.
        contents: what to show for the elements.
        place: words that say where a sharded tensor's elements lie.
    """
    prefix = class_name + "("
    indent = len(prefix)
    sizes = tuple(array.shape) if array is not None else tuple(shape or ())
    suffixes = []
    if device is not None:
        suffixes.append(f"device='{device}'")
    if array is None or array.size == 0:
        if array is None or array.ndim != 1:
            suffixes.append(f"size={sizes}")
        if is_default_float is None:
            is_default_float = is_default_dtype and dtype_name.startswith("torch.float")
        if not is_default_float:
            suffixes.append("dtype=" + dtype_name)
        body = contents or ("..." if array is None else "[]")
    else:
        if not options.edgeitems:
            suffixes.append(f"size={sizes}")
        if not is_default_dtype:
            suffixes.append("dtype=" + dtype_name)
        body = contents or array_str(array, indent)
    suffixes += place
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append("tangent=" + tangent)
    text = with_suffixes(prefix + body, suffixes, indent)
    return f"Parameter({text})" if is_parameter and class_name != "tensor" else text


def with_suffixes(text: str, suffixes: list[str], indent: int, apart: bool = False) -> str:
    """The text and what is said after it, closed; `apart` begins that on a line of its own."""
    parts = [text]
    # One more than the characters of the last line: torch counts its newline, or the missing one, too.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if apart or used + len(suffix) + 2 > options.linewidth:
            apart = False
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(parts) + ")"
