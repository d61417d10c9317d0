"""NumPy's products of arrays."""

from __future__ import annotations


import numpy as np

from ..frontend import F
from ..tensor import TensorRef
from ._tables import alike, axes_of, axis_of, cast, check_defaults, give, implements, tensor

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _pair(a: TensorRef, b: TensorRef | float) -> list[TensorRef]:
    return alike([tensor(a), tensor(b)])


@implements("dot")
def dot(a, b, out=None):
    x, y = _pair(a, b)
    if not x.ndim or not y.ndim:
        return give(x * y, out)
    if x.ndim <= 2 and y.ndim <= 2:
        return give(F.matmul(x, y), out)
    return give(tensordot(x, y, ((x.ndim - 1,), (max(y.ndim - 2, 0),))), out)


@implements("vdot")
def vdot(a, b, /):
    x, y = _pair(a, b)
    return F.vdot(F.reshape(x, (-1,)), F.reshape(y, (-1,)))


@implements("inner")
def inner(a, b, /):
    x, y = _pair(a, b)
    return x * y if not x.ndim or not y.ndim else tensordot(x, y, ((-1,), (-1,)))


@implements("outer", "linalg.outer")
def outer(a, b, out=None):
    x, y = _pair(a, b)
    return give(F.reshape(x, (-1, 1)) * F.reshape(y, (1, -1)), out)


@implements("tensordot", "linalg.tensordot")
def tensordot(a, b, axes=2):
    x, y = _pair(a, b)
    if isinstance(axes, (int, np.integer)):
        axes = tuple(range(x.ndim - int(axes), x.ndim)), tuple(range(int(axes)))
    over_x, over_y = [axes_of(tuple(np.atleast_1d(one).tolist()), t.ndim) for one, t in zip(axes, (x, y))]
    if [x.shape[i] for i in over_x] != [y.shape[i] for i in over_y]:
        raise ValueError("shape-mismatch for sum")
    return F.tensordot(x, y, (over_x, over_y))


@implements("vecdot", "linalg.vecdot")
def vecdot(x1, x2, /, *, axis=-1):
    x, y = _pair(x1, x2)
    return F.linalg_vecdot(x, y, dim=axis)


@implements("linalg.matmul")
def matmul(x1, x2, /):
    return F.matmul(*_pair(x1, x2))


@implements("matvec")
def matvec(x1, x2, /):
    x, y = _pair(x1, x2)
    return F.squeeze(F.matmul(x, F.unsqueeze(y, -1)), -1)


@implements("vecmat")
def vecmat(x1, x2, /):
    x, y = _pair(x1, x2)
    return F.squeeze(F.matmul(F.unsqueeze(F.conj(x), -2), y), -2)


@implements("kron")
def kron(a, b):
    return F.kron(*_pair(a, b))


@implements("cross", "linalg.cross")
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    x, y = _pair(a, b)
    x, y = F.movedim(x, axis_of(axisa, x.ndim), -1), F.movedim(y, axis_of(axisb, y.ndim), -1)
    if not {x.shape[-1], y.shape[-1]} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if x.shape[-1] == y.shape[-1] == 2:
        part = lambda t, i: F.select(t, -1, i)
        return part(x, 0) * part(y, 1) - part(x, 1) * part(y, 0)
    x, y = [t if t.shape[-1] == 3 else F.cat([t, TensorRef.over(np.zeros((*t.shape[:-1], 1), t._k.np))], -1) for t in (x, y)]
    sizes = np.broadcast_shapes(x.shape, y.shape)
    result = F.linalg_cross(F.broadcast_to(x, sizes), F.broadcast_to(y, sizes), dim=-1)
    return F.movedim(result, -1, axis_of(axisc, result.ndim))


@implements("trace")
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    diagonal = F.diagonal(tensor(a), offset, axis1, axis2)
    return give(F.sum(diagonal if dtype is None else cast(diagonal, dtype), (-1,)), out)


@implements("linalg.trace")
def trace_of_last(x, /, *, offset=0, dtype=None):
    return trace(x, offset, -2, -1, dtype)


@implements("einsum")
def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    check_defaults("einsum", order=(order, ("K",)), casting=(casting, ("safe", "same_kind")))
    if isinstance(operands[0], str):
        equation, tensors = operands[0], [tensor(x) for x in operands[1:]]
    else:
        equation, tensors = _spelled(operands)
    return give(F.einsum(_explicit(equation.replace(" ", "")), alike(tensors, dtype)), out)


def _spelled(operands: tuple[TensorRef | list[int], ...]) -> tuple[str, list[TensorRef]]:
    """The equation of operands that alternate with lists of numbers of axes."""
    word = lambda axes: "".join(["..." if i is Ellipsis else _LETTERS[i] for i in axes])
    pairs = len(operands) // 2
    text = ",".join([word(operands[2 * i + 1]) for i in range(pairs)])
    return text + ("->" + word(operands[-1]) if len(operands) % 2 else ""), [tensor(operands[2 * i]) for i in range(pairs)]


def _explicit(equation: str) -> str:
    """An equation with its output, for which NumPy takes the letters that come once in the order of the alphabet."""
    if "->" in equation:
        return equation
    letters = equation.replace(",", "").replace("...", "")
    return equation + "->" + ("..." if "..." in equation else "") + "".join(sorted([c for c in set(letters) if letters.count(c) == 1]))
