"""Processes that a program starts anew find `import torch` answered as the program does, and the program knows where it lies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch


def squared(x):
    return (torch.as_tensor(x) ** 2).tolist()


if __name__ == "__main__":
    print(__file__)
    for method in ("spawn", "forkserver"):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as executor:
            print(method, list(executor.map(squared, [2, [3, 4]])))
"""


def test_new_processes_import_torch_as_their_parent_does(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "torchcompat", "program.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(script), "spawn [4, [9, 16]]", "forkserver [4, [9, 16]]"]
