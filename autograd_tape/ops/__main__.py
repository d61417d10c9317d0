"""`python -m autograd_tape.ops`: writes the index of the records anew, after operations were added, renamed or moved."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from ..record import RECORDS, Record, method_names
from . import MODULES, load_records

PAGE = Path(__file__).with_name("_index.py")
_PAGE = '''"""Where each operation's record stands, and the names of all methods: what is known before the records' modules are imported.

Written by `python -m autograd_tape.ops`; a test holds it current. Not to be changed by hand.
"""

INDEX = {{
{index}
}}
ALIASES = {{
{aliases}
}}
METHODS = (
{methods}
)
'''


def page() -> str:
    """The text of the index, of the records as their modules have them."""
    load_records()
    found = {module: _records(f"{__package__}.{module}") for module in MODULES}
    records = [rec for of_module in found.values() for rec in of_module]
    index = [f'    "{module}": (\n{_filled([rec.name for rec in of_module], 8)}),' for module, of_module in found.items()]
    return _PAGE.format(index="\n".join(index), aliases="\n".join([f'    "{a}": "{rec.name}",' for rec in records for a in rec.alias]),
                        methods=_filled(dict.fromkeys([name for rec in records for name in method_names(rec)]), 4))


def _records(module: str) -> list[Record]:
    """The records of a module in its order."""
    return sorted([rec for rec in RECORDS.loaded() if rec.module == module], key=lambda rec: rec.nr)


def _filled(names: Iterable[str], indent: int) -> str:
    words = " ".join([f'"{name}",' for name in names])
    return textwrap.fill(words, 136, initial_indent=" " * indent, subsequent_indent=" " * indent, break_on_hyphens=False)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
