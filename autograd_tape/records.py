"""The table of the records, whose modules are imported when one of theirs is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

from .warned import silence

T = TypeVar("T")


class Records(dict[str, T]):
    """The records by name. Where each stands is known from the start, so that names can be looked up and gone through; its module is
    imported when the record is asked for, and all are when all are gone through. What is there of a record until then is the module."""

    fresh = False
    """Whether records were made since one was asked for: their modules are not silent yet, see `warned.silence`."""

    def __setitem__(self, name: str, record: T) -> None:
        super().__setitem__(name, record)
        self.fresh = True

    def __getitem__(self, name: str) -> T:
        found: Any = super().__getitem__(name)
        if found.__class__ is str:
            import_module(found)
            found = super().__getitem__(name)
            if found.__class__ is str:
                raise LookupError(f"{found} has no record of {name!r}; run: python -m autograd_tape.ops")
        if self.fresh:
            self.fresh = silence(f"{__package__}.")
        record: T = found
        return record

    def get(self, name: str, default: Any = None) -> Any:
        """The record, `default` where there is none."""
        return self[name] if name in self else default

    def values(self) -> Any:
        """All of them."""
        for module in dict.fromkeys([found for found in super().values() if isinstance(found, str)]):
            import_module(module)
        for name in self:
            self[name]
        return super().values()

    def items(self) -> Any:
        """All names and records."""
        self.values()
        return super().items()

    def loaded(self) -> list[T]:
        """Those whose modules were imported."""
        return [found for found in super().values() if found.__class__ is not str]
