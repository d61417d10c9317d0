"""torch.backends.mkl: this build has none."""

from __future__ import annotations

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """False: products go to the library that NumPy brings."""
    return False


class verbose:
    """A block in which MKL would print what it is called for.

    Args:
        enable: `VERBOSE_ON` or `VERBOSE_OFF`.
    """

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> "verbose":
        return self

    def __exit__(self, *exc: object) -> None:
        pass
