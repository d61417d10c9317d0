"""Fused CPU kernels over NumPy arrays: compiled by Numba where it is installed, NumPy compositions where it is not.

Plain functions, no Tensor objects.  Importing this package costs next to nothing: Numba is imported when the first big
array needs it (see ``_on_demand`` for the rule and for the environment variables).
"""
