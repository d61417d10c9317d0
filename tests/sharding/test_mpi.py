"""Meshes over processes: what they compute is what a simulated mesh does, and where one fails, all end and say which."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install autograd-tape[distributed]")

ROOT = Path(__file__).resolve().parents[2]
MPIEXEC = shutil.which("mpiexec", path=sysconfig.get_path("scripts")) or shutil.which("mpiexec") or "mpiexec"
MSRUN = shutil.which("msrun", path=sysconfig.get_path("scripts")) or "msrun"
MARK = "AUTOGRAD_TAPE_TEST_OF_MPI"
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def _dies_with_parent() -> None:
    if _prctl is not None:
        _prctl(1, signal.SIGKILL)


def _environment(mark: str) -> dict[str, str]:
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, **threads, "PATH": path, "PYTHONPATH": str(ROOT), "GLOG_v": "4", MARK: mark}


def _left(mark: str) -> list[int]:
    """The processes that were started with this mark and still run."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            variables = (each / "environ").read_bytes().split(b"\0")
            if f"{MARK}={mark}".encode() in variables and "\nState:\tZ" not in (each / "status").read_text():
                found.append(int(each.name))
        except OSError:
            continue
    return found


def _none_left(mark: str) -> None:
    """Raises where processes are left, after a time to end, and ends them."""
    end = time.monotonic() + 5
    while (left := _left(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.fixture
def mark(request: pytest.FixtureRequest) -> Iterator[str]:
    """Marks the processes of a test, of which none may be left."""
    name = f"{request.node.name}-{os.getpid()}"
    yield name
    _none_left(name)


def start(ranks: int, scene: str, mark: str, *before: str) -> subprocess.Popen[str]:
    """Starts a scene of `processes`, each by the command `before`."""
    return _started(mark, MPIEXEC, "-n", str(ranks), *before, sys.executable, "-m", "tests.sharding.processes", scene)


def _started(mark: str, *command: str, cwd: Path = ROOT) -> subprocess.Popen[str]:
    return subprocess.Popen(command, cwd=cwd, env=_environment(mark), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, preexec_fn=_dies_with_parent)


def _done(process: subprocess.Popen[str], limit: float) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=limit)
    finally:
        process.kill()
        process.wait()
    return process.returncode, out, err


def run(ranks: int, scene: str, mark: str, limit: float, *before: str) -> tuple[int, str, str]:
    """The exit code of a scene, and what it wrote."""
    return _done(start(ranks, scene, mark, *before), limit)


@pytest.mark.parametrize("ranks, cases", [(2, 804), (4, 1665)])
def test_all_as_simulated(ranks: int, cases: int, mark: str) -> None:
    # By shells that live on, lest mpiexec end all at once when one is killed.
    code, out, err = run(ranks, "all_of_it", mark, 120, "-disable-auto-cleanup", "sh", "-c",
                         'trap "" USR1; "$@"; exit 0', "sh")
    expected = {f"check_collectives {cases}": ranks, "check_programs 16": ranks, "check_random 4": ranks, "check_quiet 1": ranks,
                "check_disagreement 10": ranks, "check_dead 1": ranks - 1}
    assert {line: out.splitlines().count(line) for line in {*out.splitlines(), *expected}} == expected, err[-6000:]
    assert code == 1  # since one of them was killed


@pytest.mark.parametrize("ranks, scene, text", [
    (2, "late", r"rank 0 waits in barrier of Mesh\(a=2\), but rank 1 of 2 did not come within 0.3 s"),
    (4, "failing", r"rank [023] has come to barrier of Mesh\(a=4\), but rank 1 of 4 failed: ValueError: no more"),
    (2, "early", r"rank 0 has come to barrier of Mesh\(a=2\), but rank 1 of 2 has ended its program"),
])
def test_the_others_name_the_one_that_is_missing(ranks: int, scene: str, text: str, mark: str) -> None:
    code, _, err = run(ranks, scene, mark, 60)
    assert code == 1 and re.search(text, err), err[-6000:]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
def test_none_is_left_when_the_launcher_is_killed(mark: str) -> None:
    process = start(2, "waiting", mark)
    try:
        assert process.stdout is not None
        assert [process.stdout.readline()[:4] for _ in range(2)] == ["pid "] * 2
        assert len(_left(mark)) > 2
    finally:
        process.kill()
        process.wait()
    _none_left(mark)


@pytest.mark.skipif(importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed")
def test_mindspore_as_simulated(mark: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code, out, err = _done(_started(
        mark, MSRUN, "--worker_num=2", "--local_worker_num=2", f"--master_port={port}", f"--log_dir={tmp_path}", "--join=True",
        str(ROOT / "tests" / "sharding" / "processes.py"), "on_mindspore", cwd=tmp_path), 150)
    told = [(tmp_path / f"worker_{i}.log").read_text() for i in range(2)]
    assert code == 0 and all([{"check_collectives 72", "on_mindspore 1"} <= set(t.splitlines()) for t in told]), told[0][-3000:] + err


@pytest.mark.skipif(importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed")
def test_mindspore_wants_its_processes(mark: str) -> None:
    program = 'from autograd_tape.sharding import Mesh; Mesh({"a": 2}, carrier="mindspore")'
    code, _, err = _done(_started(mark, sys.executable, "-c", program), 60)
    assert code == 1 and "ExecutorUnavailableError: MindSpore's communication does not start. Expected processes started by msrun" in err
