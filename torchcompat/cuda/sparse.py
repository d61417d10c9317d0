"""torch.cuda.sparse where there is no CUDA: legacy types that have no objects."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from ._types import tensors

globals().update(tensors("torch.cuda.sparse"))
_absences(__name__)
