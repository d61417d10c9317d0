"""Loops for the kernel compiler.  Importing a module of this folder imports Numba (see ``.._compile``)."""
