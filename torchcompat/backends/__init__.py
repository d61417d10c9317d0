"""torch.backends: which libraries compute, and their flags. Here NumPy and compiled kernels do, so most answer that they are not there.

What a program sets is kept and given back; nothing is computed otherwise for it.
"""

from __future__ import annotations

from . import (
    _flags, cpu as cpu, cuda as cuda, cudnn as cudnn, cusparselt as cusparselt, kleidiai as kleidiai, mha as mha, miopen as miopen,
    mkl as mkl, mkldnn as mkldnn, mps as mps, nnpack as nnpack, openmp as openmp, opt_einsum as opt_einsum, quantized as quantized,
    xnnpack as xnnpack,
)


def disable_global_flags() -> None:
    """From now on flags can be changed in blocks alone."""
    _flags.frozen = True


def flags_frozen() -> bool:
    """Whether they can."""
    return _flags.frozen


__allow_nonbracketed_mutation = _flags.thawed


class GenericModule(_flags.FlagModule):
    """The module, with the precision of float32 in all backends."""

    fp32_precision = _flags.OfBackend("generic")


GenericModule.become(__name__)
