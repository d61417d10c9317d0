"""torch.sparse: tensors of which few elements are not zero.

>>> import torchcompat as torch
>>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3))
>>> torch.sparse.mm(x, torch.ones(3, 1))
tensor([[3.],
        [4.]])
"""

from __future__ import annotations

from typing import Any as _Any

from autograd_tape.warned import silence as _silence

from .._calls.absent import absences as _absences
from . import _arithmetic, _methods
from ._checks import check_sparse_tensor_invariants
from ._diagonals import spdiags
from ._legacy import CLASSES as _CLASSES
from ._products import addmm, mm, sampled_addmm
from ._shapes import log_softmax, softmax
from ._shapes import sparse_sum as sum


globals().update(_CLASSES)


def sparse_methods() -> _Any:
    """What sparse tensors do where others do something else."""
    return _methods


__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum"]

_silence(__name__ + "._")
_absences(__name__)
