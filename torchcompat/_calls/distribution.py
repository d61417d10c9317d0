"""What `importlib.metadata` finds of torch while torchcompat stands in its place: a version, and what it is."""

from __future__ import annotations

import os
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from ..version import __version__


class Record(Distribution):
    """The record of a distribution that nobody installed; it has no files."""

    def read_text(self, filename: str | os.PathLike[str]) -> str | None:
        """The metadata, and which packages it has; None of everything else."""
        if os.fspath(filename) == "top_level.txt":
            return "functorch\ntorch\n"
        if os.fspath(filename) != "METADATA":
            return None
        return (f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n"
                "Summary: torchcompat of autograd-tape, in the place of torch in this process\n")

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        """Where a file of the package is."""
        return Path(__file__).parents[2] / path
