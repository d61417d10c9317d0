"""The examples run as a user runs them, and do what they say."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import torchcompat as torch

ROOT = Path(__file__).resolve().parents[1]
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]\d+)?")
WITH_A_TEST_OF_THEIR_OWN = {"tape_basics", "train_digits"}
SCRIPTS = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem not in WITH_A_TEST_OF_THEIR_OWN]


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_prints_what_it_shows(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its assertions hold, and it prints what its docstring shows, numbers up to their last digit."""
    doc = runpy.run_path(str(script), run_name="__main__")["__doc__"]
    printed, shown = capsys.readouterr().out, doc.partition(f"    $ python examples/{script.name}\n")[2]
    assert shown and NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split(), printed
    numbers = [[float(x) for x in NUMBER.findall(text)] for text in (printed, shown)]
    np.testing.assert_allclose(*numbers, rtol=1e-2, atol=1e-4, err_msg=printed)


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
