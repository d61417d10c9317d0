"""Runs HIPS autograd's own tests on autograd_tape: `python -m tests.hips FOLDER [pytest's arguments]`.

FOLDER is its unpacked source distribution (`pip download --no-deps --no-binary :all: autograd`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .shim import install


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    install(folder)
    chosen = [a for a in sys.argv[2:] if not a.startswith("-")]
    options = [a for a in sys.argv[2:] if a.startswith("-")]
    return pytest.main(["-o", "addopts=", "-p", "no:cacheprovider", "-q", "--rootdir", str(folder / "tests"), "-c", "/dev/null",
                        *([str(folder / "tests" / c) for c in chosen] or [str(folder / "tests")]), *options])


if __name__ == "__main__":
    sys.exit(main())
