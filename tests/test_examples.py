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
WITH_A_TEST_OF_THEIR_OWN = {"bert_mlm", "char_lm", "diffusion_digits", "lightning_digits", "tape_basics", "train_digits", "vae_digits"}
SCRIPTS = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem not in WITH_A_TEST_OF_THEIR_OWN]


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_prints_what_it_shows(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its assertions hold, and it prints what its docstring shows, numbers up to their last digit."""
    doc = runpy.run_path(str(script), run_name="__main__")["__doc__"]
    printed, shown = capsys.readouterr().out, doc.partition(f"    $ python examples/{script.name}\n")[2]
    assert shown and NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split(), printed
    numbers = [[float(x) for x in NUMBER.findall(text)] for text in (printed, shown)]
    np.testing.assert_allclose(*numbers, rtol=1e-2, atol=1e-4, err_msg=printed)


def trained(script: str, out: Path, *arguments: str) -> tuple[list[str], str]:
    """The lines that a training script prints, and what goes to standard error: its progress bar."""
    for module in ("matplotlib", "sklearn", "tensorboard", "tqdm"):
        pytest.importorskip(module, reason=f"{module} is missing: pip install .[examples]")
    path = Path(__file__).parents[1] / "examples" / script  # an absolute path stays what it is
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-m", "torchcompat", str(path), "--out", str(out), *arguments], capture_output=True, text=True,
                          env=env, cwd=out, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "training: 100%" in done.stderr
    return done.stdout.splitlines(), done.stderr


def test_train_digits(tmp_path: Path) -> None:
    lines, _ = trained("train_digits.py", tmp_path)
    assert re.fullmatch(r"compiled: \d+ kernels in \d+\.\d s", lines[-2]), lines
    match = re.fullmatch(r"test accuracy: (0\.\d{4})", lines[-1])
    assert match and float(match[1]) >= 0.97, lines
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")
    state = torch.load(tmp_path / "digits.pt")
    assert state["classifier.2.weight"].shape == (10, 512) and not np.isnan(state["classifier.2.weight"].numpy()).any()


def test_bert_mlm(tmp_path: Path) -> None:
    """The loss falls, and what is written is read again."""
    pytest.importorskip("transformers", reason="transformers is missing: pip install .[small-clients]")
    small = "--docstrings 200 --vocabulary 200 --hidden 32 --layers 1 --batch 4 --length 16 --every 10".split()
    lines, _ = trained("bert_mlm.py", tmp_path, *small, "--steps", "30")
    match = re.fullmatch(r"loss: (\d\.\d{4}) in the first tenth of the steps, (\d\.\d{4}) in the last", lines[-1])
    assert match and float(match[2]) < float(match[1]) < 5.6, lines
    assert (tmp_path / "bert_mlm.png").read_bytes().startswith(b"\x89PNG") and (tmp_path / "model.safetensors").stat().st_size > 10_000
    assert len(torch.load(tmp_path / "bert_mlm.pt")["losses"]) == 30


def test_lightning_digits(tmp_path: Path) -> None:
    """The loss falls, and a run that goes on from a checkpoint keeps those it had."""
    pytest.importorskip("lightning", reason="lightning is missing: pip install .[clients]")
    lines, _ = trained("lightning_digits.py", tmp_path, "--width", "8", "--epochs", "2")
    more, _ = trained("lightning_digits.py", tmp_path, "--width", "8", "--epochs", "3", "--resume")
    losses = [re.fullmatch(r"loss: (\d\.\d{4}) in the first epoch, (\d\.\d{4}) in the last", found[-2]) for found in (lines, more)]
    assert losses[0] and losses[1] and losses[0][1] == losses[1][1] and float(losses[1][2]) < float(losses[0][1]), (lines, more)
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG") and (tmp_path / "last.ckpt").exists()


def test_diffusion_digits(tmp_path: Path) -> None:
    pytest.importorskip("diffusers", reason="diffusers is missing: pip install .[clients]")
    lines, _ = trained("diffusion_digits.py", tmp_path, "--width", "8", "--batch-size", "8", "--steps", "20", "--columns", "1")
    match = re.fullmatch(r"loss: (\d\.\d{4}) in the first tenth of the steps, (\d\.\d{4}) in the last", lines[-2])
    assert match and float(match[2]) < float(match[1]) < 1.5, lines
    assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG") and (tmp_path / "unet" / "config.json").exists()


def test_vae_digits(tmp_path: Path) -> None:
    lines, _ = trained("vae_digits.py", tmp_path, "--epochs", "4", "--hidden", "64")
    match = re.fullmatch(r"evidence lower bound, nats an image: training (-\d+\.\d\d), test (-\d+\.\d\d) \(of which .*\)", lines[-1])
    assert match and all(-300 < float(bound) < -150 for bound in match.groups()), lines  # -590 for an image of which nothing is known
    assert (tmp_path / "vae.png").read_bytes().startswith(b"\x89PNG")
    assert torch.load(tmp_path / "vae.pt")["decoder.4.weight"].shape == (64, 64)


RUNS = """
import runpy
import sys

for arguments in ([*common, "--out", "whole", "--steps", "6"], [*common, "--out", "parts", "--steps", "4"],
                  [*common, "--out", "parts", "--steps", "6", "--resume"]):
    sys.argv[1:] = arguments
    runpy.run_path(script, run_name="__main__")
"""


def test_char_lm_goes_on_as_if_it_had_not_been_interrupted(tmp_path: Path) -> None:
    program, arguments = tmp_path / "program.py", "--characters 20000 --width 16 --length 16 --batch-size 4 --every 3 --sample 20".split()
    program.write_text(f"common, script = {arguments!r}, {str(ROOT / 'examples' / 'char_lm.py')!r}\n{RUNS}")
    lines, _ = trained(str(program), tmp_path)
    assert [line[:11] for line in lines if line.startswith("step")] == [f"step     {n}:" for n in (3, 6, 3, 4, 6)], lines
    reports = [line for line in lines if line.startswith("step     6:")]
    assert reports[0] == reports[1] and lines.count(lines[-1]) >= 2, lines
    whole, parts = [torch.load(tmp_path / out / "char_lm.pt") for out in ("whole", "parts")]
    assert whole["step"] == parts["step"] == 6 and whole["losses"] == parts["losses"] and torch.equal(whole["random"], parts["random"])
    for x, y in zip(whole["model"].values(), parts["model"].values(), strict=True):
        assert torch.equal(x, y)
    assert all(list((tmp_path / out).glob("events.out.tfevents.*")) for out in ("whole", "parts"))
