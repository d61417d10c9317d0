"""The tests that packages ship, run unmodified: how many of those that pass on torch pass here.

Run in an environment with torch and then in one without, with the same folder, which keeps how tests end and unpacked sources::

    python -m tests.clients suites FOLDER [SUITE ...]

The tests that are run may need packages of their own (pytest-timeout, hypothesis, parameterized, flaky, pytest-mock).
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable
from datetime import date
from importlib import metadata
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

ROOT, FOLDER = Path(__file__).parents[2], Path(__file__).parent
RECORDED = FOLDER / "recorded_suites.json"


class Suite(NamedTuple):
    """Tests of a package: what pytest is told, where they stand, and which."""

    package: str
    arguments: str
    setting: str = ""
    """Variables of the environment, as in a shell."""
    sample: int = 0
    """So many of the files that `arguments` starts with patterns of; all of them where it is 0."""
    ours: str = ""
    """A file of ours that gives the package's common tests something to test, copied beside them."""

    def shipped(self) -> bool:
        """Whether the tests are installed with the package; if not, the package's source distribution has them."""
        return self.arguments.startswith("--pyargs")

    def command(self) -> str:
        """What is run, for the page."""
        sampled = f", {self.sample} of its files" if self.sample else ""
        ours = f", the package's common tests on what [{self.ours}](../tests/clients/{self.ours}) gives them" if self.ours else ""
        return f"`{f'{self.setting} ' if self.setting else ''}pytest {self.arguments}`{sampled}{ours}"


_SCIPY = "SCIPY_ARRAY_API=1"
SUITES = {
    "einops": Suite("einops", "--pyargs einops.tests", "EINOPS_TEST_BACKENDS=numpy,torch"),
    "opt_einsum": Suite("opt_einsum", "--pyargs opt_einsum -k torch"),
    **{f"scipy.{part}": Suite("scipy", f"--pyargs scipy.{part} -k torch", _SCIPY) for part in ("cluster", "special", "fft", "linalg")},
    "keras": Suite("keras", "keras/src/layers/**/*_test.py", "KERAS_BACKEND=torch", sample=30),
    "skorch": Suite("skorch", "skorch/tests/callbacks/*.py"),
    "timm": Suite("timm", "tests/test_layers_*.py tests/test_scheduler.py tests/test_input_conv.py tests/test_prune.py"),
    "accelerate": Suite("accelerate", "tests/test_utils.py tests/test_optimizer.py tests/test_hooks.py tests/test_modeling_utils.py "
                                      "tests/test_data_loader.py tests/test_offload.py tests/test_accelerator.py"),
    "torch-optimizer": Suite("torch-optimizer", "tests/test_*.py"),
    "linear_operator": Suite("linear_operator", "test/**/*_test.py"),
    "transformers": Suite("transformers", "test_tiny_models.py", "NAMES=bert", ours="suites_of_transformers.py"),
}


def run(folder: Path, names: Iterable[str], setting: dict[str, str]) -> None:
    """Runs suites; where torch is not installed, counts which of those that pass on torch pass here, and writes that down."""
    torch = bool(list(metadata.distributions(name="torch")))
    folder.mkdir(exist_ok=True)
    for name in names:
        found = _ended(folder.resolve(), name, setting, drop_in=not torch)
        print(f"{name}: {dict(Counter(outcome for outcome, _ in found.values()))}", flush=True)
        if not torch:
            known = read(folder / f"{name}.torch.jsonl")
            if not known:
                sys.exit(f"{name}: run it with torch first")
            passed = [test for test, (outcome, _) in known.items() if outcome not in ("failed", "skipped")]
            worse = {test: found.get(test, ("missing", ""))[1] for test in passed
                     if found.get(test, ("missing",))[0] in ("failed", "skipped", "missing")}
            print(f"  {len(passed) - len(worse)} of {len(passed)} that pass on torch", *map(": ".join, worse.items()), sep="\n  ")
            _write(name, {"version": metadata.version(SUITES[name].package), "date": str(date.today()), "passed": len(passed),
                          "here": len(passed) - len(worse), "worse": {test: why[:200] for test, why in list(worse.items())[:10]}})


def _ended(folder: Path, name: str, setting: dict[str, str], drop_in: bool) -> dict[str, tuple[str, str]]:
    """How each test of a suite ends, and why."""
    suite, path = SUITES[name], folder / f"{name}.{'here' if drop_in else 'torch'}.jsonl"
    where = folder if suite.shipped() else source(folder, suite.package)
    words = shlex.split(suite.arguments)
    patterns = [] if suite.shipped() else list(takewhile(lambda word: not word.startswith("-"), words))
    files = sorted(str(file.relative_to(where)) for pattern in patterns for file in where.glob(pattern))
    if suite.sample:
        files = sorted(random.Random(0).sample(files, suite.sample))
    if suite.ours:
        files = [shutil.copy(FOLDER / suite.ours, where / words[0])]
    variables = dict(word.split("=", 1) for word in suite.setting.split())
    paths = os.pathsep.join([*[str(ROOT)] * drop_in, str(FOLDER), os.environ.get("PYTHONPATH", "")])
    path.unlink(missing_ok=True)
    subprocess.run([sys.executable, "-m", "pytest", *["-p", "torchcompat.dropin"] * drop_in, "-p", "outcomes", "-p", "no:cacheprovider",
                    "-o", "addopts=", "-q", "--continue-on-collection-errors", *files, *words[len(patterns):]],
                   cwd=where, stdout=subprocess.DEVNULL,
                   env={**os.environ, **setting, **variables, "PYTHONPATH": paths, "OUTCOMES": str(path),
                        "ARCHITECTURES": str(FOLDER / "programs/architectures.py")})
    return read(path)


def source(folder: Path, package: str) -> Path:
    """The unpacked source distribution of the version that is installed; downloaded where it is not there yet."""
    version = metadata.version(package)
    wanted = _plain(f"{package}-{version}")
    if not [path for path in folder.iterdir() if path.is_dir() and _plain(path.name) == wanted]:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-binary", ":all:", "--no-deps", "-d", str(folder),
                        f"{package}=={version}"], check=True)
        for archive in folder.glob("*.tar.gz"):
            if _plain(archive.name) == f"{wanted}_tar_gz":
                with tarfile.open(archive) as file:
                    file.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir() and _plain(path.name) == wanted)


def _plain(name: str) -> str:
    """As names of packages are compared."""
    return name.lower().replace("-", "_").replace(".", "_")


def read(path: Path) -> dict[str, tuple[str, str]]:
    """How tests ended: the worst of what is told of each."""
    told: dict[str, tuple[str, str]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        test, outcome, why = json.loads(line)
        if test not in told or outcome == "failed":
            told[test] = outcome, why
    return told


def recorded() -> dict[str, dict[str, Any]]:
    """What was counted, by suite."""
    return json.loads(RECORDED.read_text()) if RECORDED.exists() else {}


def _write(name: str, counts: dict[str, Any]) -> None:
    RECORDED.write_text(json.dumps({**recorded(), name: counts}, indent=1, sort_keys=True) + "\n")


def page() -> list[str]:
    """The section of the page of compatibility, in lines."""
    rows, details = [], []
    for name, told in recorded().items():
        rows.append(f"| {SUITES[name].package} {told['version']} | {SUITES[name].command()} | {told['here']} of {told['passed']} | "
                    f"{told['date']} |")
        details += [f"- `{test}`: {why.splitlines()[0] if why else 'is not there'}" for test, why in told["worse"].items()]
    return ["## The packages' own tests", "",
            "Of the tests that pass on torch, how many pass here. They stand in the installed package (`--pyargs`) or in its source",
            "distribution; a sample of files is random and fixed. `python -m tests.clients suites FOLDER` counts them.", "",
            "| Package | What is run | Pass here | Counted |", "|---|---|---|---|", *rows, "",
            *(["What fails here (at most ten of a suite):", "", *details, ""] if details else [])]
