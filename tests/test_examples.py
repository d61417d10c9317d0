"""The examples run as a user runs them, and do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import torchcompat as torch

ROOT = Path(__file__).resolve().parents[1]


def test_train_digits(tmp_path: Path) -> None:
    for module in ("matplotlib", "sklearn", "tqdm"):
        pytest.importorskip(module, reason=f"{module} is missing: pip install .[examples]")
    script = ROOT / "examples" / "train_digits.py"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-m", "torchcompat", str(script), "--out", str(tmp_path)], capture_output=True, text=True,
                          env=env, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    last = done.stdout.strip().splitlines()[-1]
    match = re.fullmatch(r"test accuracy: (0\.\d{4})", last)
    assert match and float(match[1]) >= 0.97, last
    assert "training: 100%" in done.stderr  # the progress bar
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")
    state = torch.load(tmp_path / "digits.pt")
    assert state["classifier.2.weight"].shape == (10, 512) and not np.isnan(state["classifier.2.weight"].numpy()).any()
