"""Loops for the kernel compiler.  Importing a module of this folder imports Numba (see ``.._on_demand``)."""

from . import team  # which tells kernels how threads share them
