"""`numpy.random`: numbers drawn by NumPy, which are constants."""

from __future__ import annotations

from typing import Any

import numpy as _np

from ._lists import own


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return own(_np.random, name)


def __dir__() -> list[str]:
    return dir(_np.random)
