"""Records what torch makes of extreme numbers: `python tests/numerics/record_extremes.py` in an environment with torch and this package."""

from __future__ import annotations

import warnings

import numpy as np
from extreme_cases import PATH, cases, outcome

if __name__ == "__main__":
    import torch

    warnings.simplefilter("ignore")
    shapes, numbers = [], []
    for name, case in cases():
        found = outcome(torch, name, case)
        shapes.append("-" if found is None else ";".join(",".join(map(str, a.shape)) for a in found))
        numbers += [a.ravel() for a in found or []]
    np.savez_compressed(PATH, shapes=np.array("|".join(shapes)), numbers=np.concatenate(numbers).astype(np.float32))
    print(len(shapes), "cases,", PATH.stat().st_size // 1024, "KiB")
