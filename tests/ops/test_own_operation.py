"""A record is all that an operation of one's own needs: `own_operation.py`, in a process of its own, since records stay."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import autograd_tape


def test_a_record_in_one_file_gives_everything() -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(autograd_tape.__file__).parents[1])}
    run = subprocess.run([sys.executable, str(Path(__file__).with_name("own_operation.py"))], env=env, capture_output=True, text=True,
                         timeout=120, check=False)
    assert run.returncode == 0, run.stderr
