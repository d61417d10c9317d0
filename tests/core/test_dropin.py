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


def test_classes_say_that_they_are_torchs_as_long_as_it_stands_in() -> None:
    code = ("from torchcompat import dropin\nimport torchcompat as own, pickle\ndropin.install()\nimport torch\n"
            "from torch.nn.parallel.data_parallel import data_parallel\n"
            "kinds = own.nn.Linear, own.optim.SGD, torch.distributions.Normal, torch.utils.data.DataLoader\n"
            "print(*[k.__module__ for k in kinds], type(pickle.loads(pickle.dumps(torch.nn.Linear(1, 1)))) is own.nn.Linear,\n"
            "      torch.nn.parallel.data_parallel is data_parallel)\n"
            "dropin.uninstall()\nprint(*[k.__module__ for k in kinds])\n")
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120).stdout.split("\n")
    homes = ["nn.modules.linear", "optim.sgd", "distributions.normal", "utils.data.dataloader"]
    assert found[0] == " ".join([f"torch.{home}" for home in homes] + ["True", "True"])
    assert found[1] == " ".join([f"torchcompat.{home}" for home in homes])


ASKED = """
import importlib.metadata as m, importlib.util as u, os, sys
print(m.version("torch") == m.version("Torch") == m.metadata("torch")["Version"], m.packages_distributions()["torch"],
      [d.name for d in m.distributions() if d.name == "torch"], m.packages_distributions()["functorch"])
import torch
for name in ("torch", "torch.nn", "torch.nn.functional", "torch.cuda", "functorch", "torch.absent"):
    spec = u.find_spec(name)
    print(name, spec and (spec.name, spec.has_location, spec.origin is not None))
print(__annotations__, os.environ["TORCHCOMPAT_AS_TORCH"])
import workers.popen_anew
print(sorted(workers.popen_anew.spawn.get_preparation_data("a", init_main_module=False)))
import popen_alone
"""


def test_a_program_that_asks_of_torch_and_starts_others_is_answered_as_by_torch(tmp_path: Path) -> None:
    """Its metadata and specifications; and what packages made after multiprocessing (joblib's loky) tell their processes."""
    package = tmp_path / "workers"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "spawn.py").write_text("def get_preparation_data(name, init_main_module=True):\n    return {'name': name}\n")
    (package / "popen_anew.py").write_text("from . import spawn\n")
    (tmp_path / "popen_alone.py").write_text("")
    command = [sys.executable, "-m", "torchcompat", "-c", ASKED]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("TORCHCOMPAT_AS_TORCH", None)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    there = ["torch", "torch.nn", "torch.nn.functional", "torch.cuda", "functorch"]
    assert done.stdout.splitlines() == [
        "True ['torch'] ['torch'] ['torch']", *[f"{name} {(name, True, True)}" for name in there], "torch.absent None",
        "{} always", "['name', 'torchcompat']"]
