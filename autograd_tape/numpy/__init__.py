"""NumPy's names for programs that differentiate: `import autograd_tape.numpy as np`.

NumPy's functions know tensors, so `import numpy as np` is enough where tensors are given to them. This module is that, and more: it takes
lists with tensors in them wherever NumPy takes arrays, and its `array` makes tensors of such lists. On arrays everything is NumPy's own.

>>> import autograd_tape as at
>>> import autograd_tape.numpy as np
>>> def f(x): return np.sum(np.array([np.sin(x), x ** 2, 1.0]))
>>> bool(at.grad(f)(0.5) == np.cos(0.5) + 1.0), float(f(0.0))
(True, 1.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as _np

from ..frontend import F
from . import _elements, _fourier, _matrices, _products, _protocol, _reductions, _shapes  # what they implement goes into the tables
from . import fft, linalg, random
from ._lists import own
from ._tables import holds_tensors, tensor

if TYPE_CHECKING:
    from ..numpy._lists import Lifted
    from ..tensor import TensorRef


__version__ = _np.__version__


def __getattr__(name: str) -> Lifted:
    if name.startswith("__"):
        raise AttributeError(name)
    return own(_np, name)


def __dir__() -> list[str]:
    return sorted({*dir(_np), *globals()})


def array(object: Any, dtype: Any = None, *, copy: bool = True, order: str = "K", subok: bool = False, ndmin: int = 0) -> Any:
    """An array; a tensor where there are tensors in it, through which gradients flow."""
    if not holds_tensors(object):
        return _np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)  # type: ignore[call-overload]
    x = tensor(object, dtype)
    x = F.clone(x) if copy and x is object else x
    return x if x.ndim >= ndmin else F.reshape(x, (*[1] * (ndmin - x.ndim), *x.shape))


def asarray(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """An array; a tensor where there are tensors in it."""
    return tensor(a, dtype) if holds_tensors(a) else _np.asarray(a, dtype, order)


asanyarray = asarray


def full(shape: Sequence[int], fill_value: float | TensorRef, dtype: Any = None, order: str = "C") -> Any:
    """An array of one value; a tensor where that is one."""
    if not holds_tensors(fill_value):
        return _np.full(shape, fill_value, dtype, order)  # type: ignore[call-overload]
    return F.clone(F.broadcast_to(tensor(fill_value, dtype), (shape,) if isinstance(shape, int) else tuple(shape)))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`numpy.where`, which also takes its arguments by name."""
    theirs = own(_np, "where")
    return theirs(condition) if x is None and y is None else theirs(condition, x, y)


class _Joined:
    """`r_` and `c_` for parts that may be tensors."""

    def __init__(self, theirs: Any, columns: bool) -> None:
        self.theirs, self.columns = theirs, columns

    def __getitem__(self, parts: Any) -> TensorRef:
        parts = parts if isinstance(parts, tuple) else (parts,)
        if not holds_tensors(parts):
            return self.theirs[parts]
        if any([isinstance(p, str) for p in parts]):
            raise TypeError("r_ and c_ take no axes in words where tensors are joined; use concatenate")
        found = [tensor(self.theirs[p] if isinstance(p, slice) else p) for p in parts]
        found = [x if x.ndim else F.reshape(x, (1,)) for x in found]
        return _shapes.column_stack(found) if self.columns else _shapes.concatenate(found, 0)


r_, c_ = _Joined(_np.r_, False), _Joined(_np.c_, True)
