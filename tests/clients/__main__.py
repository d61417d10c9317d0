"""Writes down what packages that need torch give there and here::

    python -m tests.clients record [CLIENT ...]     # with a python that has torch: tests/clients/recorded
    python -m tests.clients report [CLIENT ...]     # with one that has the packages and no torch: what agrees, and docs/compatibility.md
    python -m tests.clients page                    # the page, of what was written down
    python -m tests.clients show CLIENT [CASE ...]  # what differs, in full
    python -m tests.clients suites FOLDER [SUITE ...]   # the packages' own tests: tests/clients/suites.py

Without names all clients whose packages are installed are run. `tests/clients/__init__.py` says how to add one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.clients import runs, suites

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", *names]:
            runs.record(names or runs.installed())
        case ["report", *names]:
            runs.report(names or runs.installed())
        case ["page"]:
            runs.PAGE.write_text(runs.page())
        case ["show", name, *cases]:
            runs.show(name, cases)
        case ["suites", folder, *names]:
            suites.run(Path(folder), names or suites.SUITES, runs.SETTING)
        case _:
            sys.exit(__doc__)
