"""torch.cuda.jiterator where there is no CUDA: kernels from source, which need it."""

from __future__ import annotations

from .._calls.absent import absences as _absences

_absences(__name__)
