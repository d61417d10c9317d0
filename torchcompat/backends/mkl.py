"""torch.backends.mkl: what torch has with that library is here without it."""

from __future__ import annotations

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """True: whatever torch has where it was built with MKL (products and equations of compressed sparse matrices, transforms) is there."""
    return True


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
