"""Operands of several dtypes, brought to the common one so that the quiet path takes them: where nothing is recorded that could tell."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations import Arguments
from ..dtypes import BOOL_KIND, COMPLEX, FLOATING, INTEGER, Kind, default_dtype, inference_kind, kind, result_dtype
from ..errors import AutogradError
from ..executors.kernels.halves import CAST, cast
from ..executors.kernels.pairs import ufunc2
from ..modes import GradMode, grad_mode
from ..record import Record
from ..strided import copy_like, laid_out
from ..tensor import TensorRef
from .namespace import HALF_KINDS

if TYPE_CHECKING:
    from ..frontend import Frontend

_ENABLED = GradMode.ENABLED
_PLAIN_NUMBERS = frozenset([int, float, bool])
_HALVES = ("float16", "bfloat16")
_MANY = 1 << 16  # elements of which a converted copy costs more than converting them on the way
_WITHOUT_MORE = frozenset("fdlihbB?")  # dtypes to which NumPy converts its own as torch does
BROUGHT: Any = object()
"""The result of a noted call while the quiet path runs on operands that were brought to one dtype, and where it does not take them."""


def common_of(rec: Record, asked: str | None, frontend: Frontend) -> Common | None:
    """What brings an operation's operands to one dtype; None where each keeps its own, or where one may be `asked` for."""
    if rec.promotion == "none" or rec.field("numpy") is None or rec.quiet == "none" or rec.returns_list or asked or any([
            p.type == "Tensor[]" for p in rec.params]):
        return None
    return Common(rec, frontend)


def mixes(rec: Record) -> bool:
    """Whether `Common.mixed` is for an operation: of two numbers, whose further parameters have their defaults."""
    return (rec.family in ("binary", "compare") and rec.promotion in ("float", "promote") and rec.result in ("same", "bool")
            and rec.namespace != "_internal" and rec.quiet != "none")


def in_dtype(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The elements in another dtype, laid out as torch lays out copies of expanded memory."""
    if a.flags.c_contiguous and a.dtype.char in _WITHOUT_MORE and dtype.char in _WITHOUT_MORE:
        return a.astype(dtype)
    return cast(copy_like(a) if 0 in a.strides else a, dtype)


@cache
def _kinds_of(rec: Record) -> dict[tuple[object, ...], Kind | None]:
    """What kinds operands have in common, by those that there were, of all entrances to an operation."""
    return {}


class Common:
    """The operands of one operation, and what kinds of those that there were have in common."""

    def __init__(self, rec: Record, frontend: Frontend) -> None:
        kernel = rec.field("numpy")
        self.rec, self._kernel = rec, partial(ufunc2, kernel) if isinstance(kernel, np.ufunc) else kernel
        self._ufunc = kernel if isinstance(kernel, np.ufunc) and rec.result == "same" else None
        self._wrap, self._lays_out = frontend.wrap, getattr(kernel, "lays_out", False)
        self._check, self._redirect, self._tests = rec.field("check"), rec.field("redirect"), rec.result == "bool"
        self._at = [i for i, p in enumerate(rec.params) if p.is_tensor and p.differentiable]
        self._scale = next((i for i, p in enumerate(rec.params) if p.scales), 0)
        self._numbers = frozenset([i for i in self._at if rec.params[i].type == "Operand"])  # which may be numbers
        self._kinds = _kinds_of(rec)

    def mixed(self, x: Any, other: Any, *more: object) -> Any:
        """What the kernel gives for a plain tensor and another, or a number, whose common kind the general path has found before; None
        where that is to take them, as where something is recorded, where another operation carries the call out, and for errors."""
        a, alone = x._data, None  # a function of NumPy's that converts on its way
        try:
            if (of := other.__class__) in _PLAIN_NUMBERS:
                common = self._kinds[default_dtype(), x._k, not a.ndim, of, 0 <= other < 128]
                if common is None or x._node is not None or common in HALF_KINDS:
                    return None
                b = common.scalars.get(other)
                b = common.scalar(other) if b is None else b
            else:
                b = other._data
                common = self._kinds[default_dtype(), x._k, not a.ndim, other._k, not b.ndim]
                if common is None or x._node is not None or other._node is not None or common in HALF_KINDS:
                    return None
                if a.size >= _MANY and b.shape == a.shape and common.np.kind == "c" and (
                        a.flags.c_contiguous and b.flags.c_contiguous and a.dtype.isbuiltin == b.dtype.isbuiltin == 1):
                    alone = self._ufunc
                if other._k is not common and alone is None:
                    b = b.astype(common.np) if b.flags.c_contiguous and (
                        b.size < CAST or other._k not in HALF_KINDS) else in_dtype(b, common.np)
            if self._check is not None:
                self._check(x, other, *more)
            if self._redirect is not None and self._redirect(x, other, *more) is not None:
                return None
            if alone is not None:
                return self._wrap(alone(a, b, dtype=common.np), common)
            if x._k is not common:
                a = a.astype(common.np) if a.flags.c_contiguous and (
                    a.size < CAST or x._k not in HALF_KINDS) else in_dtype(a, common.np)
            result = self._kernel(a, b)
            if self._tests:
                common = inference_kind(BOOL_KIND, common.inference)
            if result.__class__ is not np.ndarray or result.dtype is not common.np:
                result = np.asarray(result, common.np)
            if not (a.flags.c_contiguous and b.flags.c_contiguous or self._lays_out):
                result = laid_out(result, a, b)
            return self._wrap(result, common)
        except (AttributeError, AutogradError, KeyError, TypeError, ValueError):
            return None

    def brought(self, args: Arguments, frontend: Frontend) -> list[Any] | None:
        """The arguments with plain tensors and numbers brought to the common dtype; None where they are of one already, or not so plain,
        or where what they were is recorded or looked at."""
        if frontend.carried_out_elsewhere():
            return None
        quiet, seen = frontend.below_namespace["Q_ALL"], []
        for i in self._at:
            x = args[i]
            if x.__class__ in _PLAIN_NUMBERS and i in self._numbers:
                seen += [x.__class__, 0 <= x < 128]  # type: ignore[operator]  # a number
            elif not isinstance(x, TensorRef) or x._k not in quiet and x._k not in HALF_KINDS or x._data is None or (
                    x._node is not None and grad_mode() is _ENABLED):
                return None
            else:
                seen += [x._k, not x._data.ndim]
        key = (default_dtype(), *seen)
        try:
            common = self._kinds[key]
        except KeyError:
            common = self._kinds[key] = self._common(seen)
        if common is None or common in HALF_KINDS and self._scale and args[self._scale] != 1:  # `alpha` is for numbers as they are
            return None
        found, new = list(args), frontend.wrap
        for i in self._at:
            x = args[i]
            if common in HALF_KINDS and i == self._at[-1] and i in self._numbers and (x.__class__ is bool or not x._data.ndim):
                found[i] = +(x if x.__class__ is bool else x._data.item())  # whose entrance takes it as it is, unrounded
            elif not isinstance(x, TensorRef):
                number = common.scalars.get(x)
                found[i] = new(common.scalar(x) if number is None else number, common)
            elif x._k is not common:
                data = x._data
                found[i] = new(in_dtype(data, common.np), common)
        return found

    def _common(self, seen: list[Any]) -> Kind | None:
        """The kind of operands of which there are two in `seen` each: the kind, and whether it has no dimensions; or a number's type, and
        whether it fits all dtypes."""
        pairs = list(zip(seen[::2], seen[1::2]))
        tensors, numbers = [p for p in pairs if p[0] not in _PLAIN_NUMBERS], [p for p in pairs if p[0] in _PLAIN_NUMBERS]
        kinds = {k for k, _ in tensors}
        if not kinds or len({k.inference for k in kinds}) > 1:
            return None
        compute = result_dtype([(k.dtype, not flat) for k, flat in tensors], [number(1) for number, _ in numbers])
        if self.rec.promotion == "float" and compute.category < FLOATING:
            compute = default_dtype()
        names = {compute.name} if len(tensors) > 1 or self.rec.promotion != "float" else {k.dtype.name for k in kinds}
        refused = compute.category == COMPLEX and self.rec.refuses_complex
        if refused or compute.group or compute.category < INTEGER and self.rec.result != "bool" or (
                compute.category == INTEGER and not all([fits for _, fits in numbers]) or not names.isdisjoint(self.rec.lacks)):
            return None
        # A number that comes last is computed with as it is, one that comes first is rounded unless the operation says otherwise.
        as_it_is = bool(numbers) and (pairs[0][0] not in _PLAIN_NUMBERS or self.rec.field("opmath") is not None)
        if compute.name in _HALVES and (as_it_is and any([number is not bool for number, _ in numbers]) or all([
                flat for _, flat in tensors])):
            return None
        common = kind(compute, tensors[0][0].device, None, tensors[0][0].inference)
        return None if not numbers and kinds == {common} else common
