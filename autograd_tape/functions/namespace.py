"""What compiled functions see: the kinds that their quiet paths take, and what they may stumble over."""

from __future__ import annotations

import weakref

import numpy as np

from ..annotations import Keywords
from .. import dtypes
from ..errors import AutogradError
from ..executors.kernels.pairs import in_order, numpys2, ufunc2
from ..executors.kernels.sharing import ufunc1
from ..modes import GradMode, grad_mode
from ..strided import laid_out
from ..tensor import LEAF, next_id
from ..version import Version

NUMBERS = frozenset([int, float, bool, complex])
REALS = frozenset([int, float, bool])
_NATIVE = [k for k in map(dtypes.CPU_KINDS.get, map(np.dtype, "?bhilBHILefdFD")) if k is not None and not k.dtype.group]
_HALVES = frozenset([dtypes.CPU_KINDS[d.np] for d in (dtypes.float16, dtypes.bfloat16)])
_INTEGERS = frozenset([k for k in _NATIVE if k.np.kind in "biu"])
_COMPLEX = frozenset([k for k in _NATIVE if k.np.kind == "c"])
KIND_SETS: dict[str, frozenset[dtypes.Kind]] = {
    "Q_ALL": frozenset(_NATIVE),
    "Q_REAL": frozenset([k for k in _NATIVE if k.np.kind != "c"]),
    "Q_NUMBERS": frozenset(_NATIVE) - _HALVES,
    "Q_REAL_NUMBERS": frozenset([k for k in _NATIVE if k.np.kind != "c"]) - _HALVES,
    "Q_NOT_COMPLEX": frozenset([k for k in _NATIVE if k.np.kind != "c"]) | _HALVES,
    "Q_FLOAT": frozenset([dtypes.CPU_KINDS[np.dtype("f4")], dtypes.CPU_KINDS[np.dtype("f8")]]),
    "Q_INT": frozenset([k for k in _NATIVE if k.np.kind in "iu"]),
    "Q_INT64": frozenset([dtypes.INT64_KIND]),
    "Q_INT32": frozenset([dtypes.CPU_KINDS[np.dtype("i4")]]),
    "Q_BOOL": frozenset([dtypes.BOOL_KIND]),
    "Q_HALF": _HALVES,
    "Q_INTEGER": _INTEGERS,  # truth values among them
    "Q_COMPLEX": _COMPLEX,
    "Q_ANY": frozenset(_NATIVE) | _HALVES,  # of what looks at no elements
}
# The most frequent kind is compared before a set is searched, which takes 35 ns more: at each entrance its own.
QUIET_SETS = {**KIND_SETS, "Q_F32": dtypes.CPU_KINDS[np.dtype("f4")]}
RESULT_KINDS = {"KINDS": dtypes.CPU_KINDS, "BOOL": dtypes.BOOL_KIND, "INT64": dtypes.INT64_KIND}
HALF_SETS = {**QUIET_SETS, **dict.fromkeys("Q_ALL Q_ANY Q_NUMBERS Q_NOT_COMPLEX Q_REAL Q_REAL_NUMBERS Q_FLOAT".split(), _HALVES),
             "Q_INT": frozenset(), "Q_F32": dtypes.CPU_KINDS[dtypes.bfloat16.np]}
"""Those of the entrance for half precision."""
INTEGER_SETS = {**QUIET_SETS, **dict.fromkeys(["Q_ALL", "Q_NUMBERS", "Q_REAL", "Q_REAL_NUMBERS", "Q_FLOAT"], _INTEGERS),
                "Q_F32": dtypes.INT64_KIND}
"""Those of the entrance for integers."""
COMPLEX_SETS = {**QUIET_SETS, **dict.fromkeys("Q_ALL Q_NUMBERS Q_REAL Q_REAL_NUMBERS Q_FLOAT".split(), _COMPLEX), "Q_INT": frozenset(),
                "Q_F32": None}
"""Those of the entrance for complex numbers."""
HALF_KINDS = _HALVES | {dtypes.inference_kind(k) for k in _HALVES}
# What the quiet path may stumble over and leave to the general path, which finds out what is wrong.
STUMBLES = (AutogradError, AttributeError, TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, RuntimeError,
            FloatingPointError, LookupError)


def narrowed(result: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A kernel's result in the dtype of the computation, which NumPy widens for some 0-dim arrays."""
    array = np.asarray(result)
    if array.dtype.kind == "O":
        raise TypeError("an argument is no number")
    return array.astype(dtype)


def base_namespace() -> Keywords:
    """What every compiled function can see."""
    return {
        "__name__": None,  # see `warned.silence`
        "asarray": np.asarray, "narrowed": narrowed, "ndarray": np.ndarray, "LEAF": LEAF, "grad_mode": grad_mode,
        "ENABLED": GradMode.ENABLED,
        "laid_out": laid_out, "ascontiguousarray": np.ascontiguousarray, "ufunc1": ufunc1, "ufunc2": ufunc2, "in_order": in_order,
        "numpys2": numpys2, "next_id": next_id, "new_node": object.__new__, **RESULT_KINDS,
        "NUMBERS": NUMBERS, "REALS": REALS, "int": int, "F32": QUIET_SETS["Q_F32"],
        "STUMBLES": STUMBLES, "Version": Version, "ref": weakref.ref,
    }
