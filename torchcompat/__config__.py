"""torch.__config__: what this build is made of."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np


def show() -> str:
    """What computes here, in lines."""
    from .backends.cpu import get_cpu_capability
    from .version import __version__, git_version

    compiled = "kernels compiled by Numba" if find_spec("numba") else "no compiled kernels (Numba is not installed)"
    return ("PyTorch built with:\n"
            f"  - {git_version}, compatible with torch {__version__}\n"
            f"  - NumPy {np.__version__}\n"
            f"  - {compiled}\n"
            f"  - CPU capability usage: {get_cpu_capability()}\n"
            "  - Build settings: USE_CUDA=OFF, USE_CUDNN=OFF, USE_MKL=OFF, USE_MKLDNN=OFF, USE_MPI=OFF, USE_OPENMP=OFF, USE_ROCM=OFF, \n")


def parallel_info() -> str:
    """How many threads share work."""
    from . import get_num_interop_threads, get_num_threads

    return (f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n"
            f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
            "ATen parallel backend: native thread pool\n")


def _cxx_flags() -> str:
    """Nothing is compiled from C++."""
    return ""
