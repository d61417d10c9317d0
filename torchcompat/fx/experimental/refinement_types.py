"""What is known of types that are to be found."""

from __future__ import annotations

from torchcompat._calls.absent import absences as _absences


class Equality:
    """Two types, or sizes, that are the same."""

    def __init__(self, lhs: object, rhs: object) -> None:
        self.lhs, self.rhs = lhs, rhs

    def __repr__(self) -> str:
        return f"{self.lhs} = {self.rhs}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equality) and self.lhs == other.lhs and self.rhs == other.rhs


_absences(__name__)
