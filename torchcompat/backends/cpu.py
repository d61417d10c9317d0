"""torch.backends.cpu: what the processor can do."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The widest instructions of the processor: "DEFAULT", "AVX2" or "AVX512", as on ARM "SVE256"."""
    from numpy.core._multiarray_umath import __cpu_features__ as has

    ways = {"AVX512": ("AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL"), "AVX2": ("AVX2", "FMA3"), "SVE256": ("SVE",)}
    return next((name for name, needs in ways.items() if all([has.get(n) for n in needs])), "DEFAULT")
