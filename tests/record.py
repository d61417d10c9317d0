"""Records what torch makes of the tables of cases, with a python that has torch, from the repository's root::

    python -m tests.record [TABLE ...]              # all tables, where none is named
    python -m tests.record --differ [TABLE ...]     # writes down instead what torchcompat gives where it differs
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from tests.recording import Recording, Table

MODULES = ("autograd.programs", "conformance.recorded", "core.module_names",
           *sorted([".".join(path.with_suffix("").parts[-2:]) for path in Path(__file__).parent.glob("*/*_cases.py")]))
"""Where the tables are."""


def tables() -> dict[str, Table | Recording]:
    """All tables by name."""
    found = [value for module in MODULES for value in vars(import_module(f"tests.{module}")).values()]
    return {value.name: value for value in found if isinstance(value, (Table, Recording))}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="their names; all where none is given")
    parser.add_argument("--differ", action="store_true", help="write down what torchcompat gives where it differs")
    options = parser.parse_args()
    known = tables()
    unknown = [name for name in options.tables if name not in known]
    if unknown:
        parser.error(f"no table {unknown[0]!r}; there are {', '.join(sorted(known))}")
    torch = import_module("torchcompat" if options.differ else "torch")
    torch.set_num_threads(1)
    for table in [known[name] for name in options.tables or known]:
        if options.differ:
            assert isinstance(table, Table), f"{table.name} is no table"
            table.write_differences(torch)
        else:
            table.record(torch)
        print(table.name, flush=True)


if __name__ == "__main__":
    main()
