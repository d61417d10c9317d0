"""The worker pool: coverage, errors, nesting, concurrency, fork; and the rule that picks compiled kernels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from autograd_tape.__main__ import main
from autograd_tape.executors.kernels import _kernel, _on_demand, _store, elementwise, formulas, pairs, sharing


@pytest.fixture(autouse=True)
def two_threads():
    before = sharing.get_num_threads()
    sharing.set_num_threads(2)
    yield
    sharing.set_num_threads(before)


@pytest.mark.parametrize(
    ("n", "grain", "threads"), [(0, 1, 2), (1, 1, 2), (2, 1, 2), (103, 10, 2), (103, 1, 5), (7, 100, 2), (50, 3, 1)]
)
def test_every_item_once(n, grain, threads):
    sharing.set_num_threads(threads)
    hits = np.zeros(n, int)
    sizes = []

    def work(start, stop):
        hits[start:stop] += 1
        sizes.append(stop - start)

    sharing.parallel_for(n, grain, work)
    assert (hits == 1).all()
    assert len(sizes) == 1 or min(sizes) >= grain


def test_work_runs_on_several_threads():
    seen = set()
    meet = threading.Barrier(2, timeout=60)

    def work(start, stop):
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            meet.wait()  # opens only if two threads are at work at once

    sharing.parallel_for(8, 1, work)
    assert len(seen) == 2


def test_error_reaches_the_caller_and_the_pool_survives():
    for bad in range(0, 64, 9):

        def work(start, stop, bad=bad):
            if start <= bad < stop:
                raise ValueError(f"item {bad}")

        with pytest.raises(ValueError, match=f"item {bad}"):
            sharing.parallel_for(64, 1, work)
    test_every_item_once(64, 1, 2)


def test_nested_call_runs_inline():
    hits = np.zeros((8, 100), int)

    def inner(row):
        sharing.parallel_for(100, 1, lambda start, stop: hits[row, start:stop].__iadd__(1))

    sharing.parallel_for(8, 1, lambda start, stop: [inner(row) for row in range(start, stop)])
    assert (hits == 1).all()


def test_concurrent_callers():
    wrong = []

    def caller(seed):
        x = np.random.default_rng(seed).random(200_000)
        for _ in range(30):
            if not np.array_equal(sharing.ufunc1(np.sqrt, x), np.sqrt(x)):
                wrong.append(seed)

    threads = [threading.Thread(target=caller, args=(i,)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


def test_finished_work_is_not_kept_alive():
    class Token:
        alive = 0

        def __init__(self):
            Token.alive += 1

        def __del__(self):
            Token.alive -= 1

    token = Token()
    sharing.parallel_for(8, 1, lambda start, stop, token=token: None)
    del token
    deadline = time.monotonic() + 60
    while Token.alive and time.monotonic() < deadline:
        time.sleep(0.01)  # a worker that woke late may be just about to let go
    assert Token.alive == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_child_of_a_fork_has_its_own_workers():
    sharing.parallel_for(64, 1, lambda start, stop: None)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            x = np.ones(500_000)
            code = 0 if sharing.ufunc1(np.sqrt, x).sum() == 500_000 and sharing._pool.workers else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_ufuncs_match_numpy(rng):
    a, b = rng.random((2, 600, 500))
    row, block = a[0], a.reshape(3, 200, 500)
    cases = [(a, b), (a, np.array(2.0)), (a.T, b.T), (a[0], b[0]), (a.astype(np.float32), b)]
    cases += [(a, np.array(2, np.float32)), (a, row), (block, row), (block, a[:200]), (a, a[:1])]
    cases += [(block, a[:3, :1].reshape(3, 1, 1).copy()), (block, a[:200, :1].copy()), (a, a[:, :1].copy())]
    cases += [(a[:, :1].copy(), b[0]), (block[:1], a[:3, :1].reshape(3, 1, 1).copy())]
    cases += [(block[:, :, None], a[:600, :1].reshape(3, 200, 1, 1))]
    cases += [(a, a[:, :1]), (a, a[0, :1]), (a.reshape(1, -1), b.reshape(-1))]
    for x, y in cases:
        for first, second in ((x, y), (y, x)):
            for ufunc in (np.subtract, np.add, np.multiply, np.divide, np.maximum):
                result, expected = pairs.ufunc2(ufunc, first, second), ufunc(first, second)
                np.testing.assert_array_equal(result, expected)
                assert (result.dtype, result.shape, result.strides) == (expected.dtype, expected.shape, expected.strides)
    with pytest.raises(ValueError, match="broadcast"):
        pairs.ufunc2(np.add, a, a[0, :3])
    compare = pairs.ufunc2(np.less, a, b)
    assert compare.dtype == bool
    for ufunc in (np.exp, np.sqrt, np.square, np.negative, np.absolute):
        np.testing.assert_array_equal(sharing.ufunc1(ufunc, a), ufunc(a))
    assert sharing.ufunc1(np.sqrt, np.arange(600_000)).dtype == np.float64
    assert not sharing.zeros((700, 900), np.dtype(np.float32)).any()


def test_thread_count_is_checked():
    with pytest.raises(ValueError, match="positive number of threads, got 0"):
        sharing.set_num_threads(0)


def _python(code: str, **env: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **env},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def test_small_work_never_imports_numba():
    code = (
        "import sys, numpy as np\n"
        "from autograd_tape.executors.kernels import conv, elementwise, norm, optim, softmax\n"
        "x = np.ones((8, 16), np.float32)\n"
        "elementwise.gelu(x); softmax.softmax(x, 1); norm.layer_norm(x, 1)\n"
        "print('numba' in sys.modules, 'threads', __import__('threading').active_count())"
    )
    assert _python(code, AUTOGRAD_TAPE_KERNELS="auto").strip() == "False threads 1"


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is nothing to compile")
def test_compilation_is_announced_once_and_cached(tmp_path):
    code = (
        "import numpy as np\n"
        "from autograd_tape.executors.kernels import elementwise\n"
        "from autograd_tape import compiled_kernels\n"
        "x = np.zeros(100000, np.float32)\n"
        "assert compiled_kernels() == (0, 0.0)\n"
        "elementwise.exp(x); elementwise.tanh(x)\n"
        "print('compiled', compiled_kernels().count, compiled_kernels().seconds > 0)\n"
        "import numba; print('numba cache', repr(numba.config.CACHE_DIR))"
    )
    env = {"AUTOGRAD_TAPE_KERNELS": "auto", "AUTOGRAD_TAPE_CACHE_DIR": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    first = _python(code, **env)
    assert first.count("autograd_tape: compiling CPU kernels (first use only, cached in ") == 1
    assert str(tmp_path) in first
    assert "numba cache ''" in first  # other users of Numba keep their setting
    assert "compiled 0" not in first and " True\n" in first
    again = _python(code, **env)
    assert "compiling" not in again and "compiled 0 False" in again


def test_what_is_told_makes_a_progress_bar_give_way(monkeypatch, capsys):
    written = []
    bar = SimpleNamespace(write=lambda line, file: written.append((line, file is sys.stderr)))
    monkeypatch.setattr(_store, "_said", set())
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=bar))
    _store._say("something", "a detail")
    monkeypatch.delitem(sys.modules, "tqdm")
    _store._say("something else", "another")
    assert written == [("autograd_tape: something (a detail)", True)]
    assert capsys.readouterr().err == "autograd_tape: something else (another)\n"


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is nothing to compile")
def test_unwritable_cache_still_compiles(tmp_path):
    file = tmp_path / "file"
    file.write_text("not a folder")
    code = (
        "import numpy as np\n"
        "from autograd_tape.executors.kernels import elementwise\n"
        "print(elementwise.exp(np.zeros(100000, np.float32)).sum())"
    )
    output = _python(code, AUTOGRAD_TAPE_KERNELS="auto", AUTOGRAD_TAPE_CACHE_DIR=str(file))
    assert "100000.0" in output
    assert "not cached" in output


def test_modes(monkeypatch):
    before = _on_demand.use_numba("numpy")
    try:
        assert not _on_demand.uses_numba(10**9)
        assert _on_demand.use_numba("auto") == "numpy"
        assert _on_demand.uses_numba(10**9) == _on_demand.available()
        assert not _on_demand.uses_numba(10)
        with pytest.raises(ValueError, match="expected True, False or one of"):
            _on_demand.use_numba("fast")
        monkeypatch.setattr(_on_demand, "available", lambda: False)
        with pytest.raises(ModuleNotFoundError, match=r"pip install autograd-tape\[fast\]"):
            _on_demand.use_numba(True)
        _on_demand.use_numba("auto")
        assert not _on_demand.uses_numba(10**9)
        x = np.linspace(-3, 3, 100_000)
        composed = elementwise.gelu(x)
    finally:
        monkeypatch.undo()
        _on_demand.use_numba(before)
    np.testing.assert_allclose(elementwise.gelu(x), composed, rtol=1e-11, atol=1e-15)


@pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is nothing to compile")
def test_every_kernel_compiles():
    compiled = _kernel.compile_all("f")
    of_single = sum("f" in made.chars for made in formulas.Formula.made)  # others are of double precision alone
    kernels = _kernel.Kernel.registry.values()
    others = sum("f" not in made.dtypes for made in kernels)
    for_lists = [made for made in kernels if made.lists and "f" in made.dtypes]  # which are compiled for one array, too
    assert all(["f" in made.listed for made in for_lists]) and len(for_lists) > 3
    assert compiled == len(kernels) - others + len(for_lists) + of_single and len(kernels) > 30
    assert sum([_kernel.compile_all("f", part, 3) for part in range(3)]) == compiled


def test_kernels_are_compiled_beforehand(monkeypatch, capsys):
    asked: list[dict[str, int]] = []
    count = sum(1 for made in formulas.Formula.made if made.operands)
    monkeypatch.setattr(_kernel, "compile_all", lambda **part: asked.append(part) or count)
    monkeypatch.setattr(_on_demand, "available", lambda: True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    real = subprocess.Popen
    answers = iter(["print(40, 2.5)", "raise SystemExit(1)"])  # of the processes beside this one; what the second leaves is done in the end
    monkeypatch.setattr(subprocess, "Popen", lambda command, **how: real([command[0], "-c", next(answers)], **how) if command[-3:] in (
        ["--part", "1", "3"], ["--part", "2", "3"]) else pytest.fail(str(command)))
    before = _on_demand.compiled_kernels()
    assert main(["compile"]) == 0 and asked == [{"parts": 3}, {}]
    assert (found := re.match(r"(\d{2,}) kernels, of which (\d+) were compiled in (\d+) s, in .*kernels-", capsys.readouterr().out))
    assert int(found[2]) == before.count + 40 and abs(int(found[3]) - before.seconds - 2.5) < 1
    assert main(["compile", "--part", "2", "3"]) == 0 and asked[2:] == [{"part": 2, "parts": 3}]
    assert re.fullmatch(r"\d+ [\d.]+\n", capsys.readouterr().out)
    monkeypatch.setattr(_on_demand, "available", lambda: False)
    with pytest.raises(SystemExit, match="2"):
        main(["compile"])
    assert "Numba is not installed" in capsys.readouterr().err


SMALL_TRAINING = """
import torchcompat as torch
from autograd_tape.executors.kernels._on_demand import compiled_kernels
nn = torch.nn
model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 64), nn.Tanh(), nn.LayerNorm(64), nn.Dropout(0.1), nn.Linear(64, 10))
optimizer = torch.optim.AdamW(model.parameters())
x, y = torch.randn(32, 20), torch.randint(0, 10, (32,))
for _ in range(60):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
print("compiled", compiled_kernels().count)
"""


def test_small_programs_wait_for_no_compiler(tmp_path):
    found = _python(SMALL_TRAINING, AUTOGRAD_TAPE_KERNELS="auto", AUTOGRAD_TAPE_CACHE_DIR=str(tmp_path))
    assert found.splitlines()[-1] == "compiled 0"


def test_thresholds_follow_the_mode():
    before, found = _on_demand.state.mode, {}
    try:
        for mode in ("auto", "kept", "numba", "numpy"):
            if mode == "numpy" or _on_demand.available():
                _on_demand.use_numba(mode)
                found[mode] = _on_demand.state.short, _on_demand.state.fused, _on_demand.state.cheap
    finally:
        _on_demand.use_numba(before)
    assert found.pop("numpy") == (0, _on_demand._NEVER, _on_demand._NEVER)
    assert not found or found == {"auto": (64, 8192, 32768), "kept": (512, 512, 2048), "numba": (0, 1, 1)}


def test_environment_is_checked():
    result = subprocess.run(
        [sys.executable, "-c", "import autograd_tape.executors.kernels._on_demand"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "AUTOGRAD_TAPE_KERNELS": "fast"},
        check=False,
    )
    assert result.returncode != 0
    assert "AUTOGRAD_TAPE_KERNELS: expected one of" in result.stderr


INTERRUPTED = """
import signal, numpy as np
from autograd_tape.executors.kernels import elementwise, sharing
sharing.set_num_threads(3)
x, interrupts = np.ones(300_000, np.float32), 0
elementwise.exp(x)
for i in range(400):
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + i % 60))
        while True:
            sharing.parallel_for(64, 1, lambda start, stop: x[:start].sum())
            elementwise.exp(x[:70_000])
    except KeyboardInterrupt:
        interrupts += 1
    assert not sharing._pool.busy and not sharing._pool.hiring.locked() and not sharing._pool.cells[80]
hits = np.zeros(64, int)
sharing.parallel_for(64, 1, lambda start, stop: hits[start:stop].__iadd__(1))
assert (hits == 1).all() and np.allclose(elementwise.exp(x), np.e)
print("interrupts", interrupts)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no timer signals")
def test_interrupts_leave_the_pool_free():
    program = "import signal; signal.signal(signal.SIGALRM, signal.default_int_handler)\n" + INTERRUPTED
    assert _python(program, AUTOGRAD_TAPE_KERNELS="auto").startswith("interrupts 400\n")  # or the kernel is compiled, and said to be


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_child_of_a_fork_draws_though_the_generator_was_in_use():
    from autograd_tape.random import Generator

    generator = Generator(0)
    with generator._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if generator.uniform((3,)).shape == (3,) else 1)
    deadline = time.monotonic() + 60
    while (found := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    if found[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert found[0] == child and os.waitstatus_to_exitcode(found[1]) == 0
