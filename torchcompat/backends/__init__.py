"""torch.backends: which libraries compute. On the CPU these are NumPy and compiled kernels, so the answers are mostly no."""

from __future__ import annotations

import types
from typing import Any


def _never() -> bool:
    """False."""
    return False


def _absent(name: str, **more: Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(__name__=f"torch.backends.{name}", is_available=_never, **more)


cuda = _absent("cuda", is_built=_never, matmul=types.SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True))
cudnn = _absent("cudnn", enabled=False, benchmark=False, deterministic=False, allow_tf32=False, version=lambda: None)
mps = _absent("mps", is_built=_never)
mkl = _absent("mkl")
mkldnn = _absent("mkldnn", enabled=False)
openmp = _absent("openmp")
opt_einsum = types.SimpleNamespace(is_available=_never, enabled=False, strategy=None)
