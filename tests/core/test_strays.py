"""What programs meet beside operations, against torch; and what a module is known by where it stands in for torch's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.core.stray_cases import TABLE

import torchcompat as torch

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import importlib, importlib.resources, importlib.util
import torch, torch.nn, torch.optim.lr_scheduler, torch.nn.utils
from torch.distributions import Normal

names = "torch torch.nn torch.optim.lr_scheduler torch.distributions torch.nn.utils torch.optim.adam torch.utils.data"
for name in names.split():
    assert importlib.util.find_spec(name).name == name, name
assert torch.__spec__.name == torch.__name__ == "torch" and torch.distributions.normal.__spec__.name == "torch.distributions.normal"
assert importlib.resources.files("torch").is_dir() and torch.__spec__.origin == torch.__file__ and torch.__spec__.has_location
assert importlib.util.find_spec("torch.nothing") is None
assert importlib.reload(torch.nn.utils) is torch.nn.utils and torch.nn.utils.__spec__.name == "torch.nn.utils"
assert torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2)).weight.shape == (2, 2)
"""


def test_as_torch() -> None:
    TABLE.assert_as_torch(torch, *TABLE.recorded)


def test_modules_are_known_by_torchs_names(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-W", "error::ImportWarning", "-m", "torchcompat", "program.py"], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
