"""Machine code on disk: whatever befalls the files, programs run; what is kept is found again, and nothing else is written."""

from __future__ import annotations

import ast
import errno
import fcntl
import os
import resource
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from autograd_tape.executors.kernels import _entry, _on_demand, _store

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is no machine code")

ROOT = Path(_store.__file__).parents[3]
PROGRAM = """
import sys
import numpy as np
from autograd_tape.executors import compiled_kernels
from autograd_tape.executors.kernels import conv, elementwise
from autograd_tape.random import Generator
assert elementwise.exp(np.zeros(100000, np.float32)).sum() == 100000
assert abs(Generator(0).uniform((1 << 18,)).mean() - 0.5) < 0.01
x, w = np.ones((2, 3, 65, 65), np.float32), np.ones((3, 1, 3, 3), np.float32)
assert (conv.conv2d(x, w, None, (1, 1), (0, 0), (1, 1), 3) == 9).all()  # with arrays in between
print("compiled", compiled_kernels().count, "with" if {"numba", "llvmlite"} & set(sys.modules) else "without")
"""


MODULES = sorted(path.stem for path in (Path(_store.__file__).parent / "compiled").glob("*.py"))


def imported(paths: set[Path]) -> set[Path]:
    """The files of the package that these import, themselves included."""
    seen = set(paths)
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                seen |= {base.with_suffix(".py"), *[base / f"{alias.name}.py" for alias in node.names]}
    return {path for path in seen if path.is_file()}


@pytest.mark.parametrize("module", MODULES)
def test_all_that_kernels_are_made_of_decides_where_they_are_kept(module: str) -> None:
    """What a compiled module imports of the package, but annotations, what makes functions of text, and formulas, which have digests;
    and what those import that are compiled."""
    known, package = {*_store.sources(module)}, Path(_store.__file__).parents[2]
    compiled = package / "executors/kernels/compiled"
    seen, before = {compiled / f"{module}.py", compiled / "team.py"}, set[Path]()
    while seen != before:
        before = seen
        seen = seen | imported({path for path in seen if path.parent == compiled})
    assert seen - known <= {package / name for name in ("annotations.py", "codegen.py", "executors/kernels/formulas.py")}
    assert {path.stem for path in known} >= {"_common", "_elf", "_entry", "_kernel", "base", "team"}


def test_modules_have_kernels_of_their_own() -> None:
    """A change of one leaves the machine code of others where it is."""
    assert {path.stem for path in _store.sources("order")} > {"order", "selection"}
    for module, others in {"order": {"pairs", "folds", "loops"}, "softmax": {"order", "selection", "folds"}}.items():
        assert not others & {path.stem for path in _store.sources(module)}


def test_old_files_of_a_kernel_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRAD_TAPE_CACHE_DIR", str(tmp_path))
    for i in range(10):
        store = _store.Store(f"some.kernel.shared.f.{i:012}")
        store.save(CODE)
        os.utime(store.path, (i, i))
    for other in ("some.kernel.shared.d.0", "some.kernel.listed.f.0", "some.kernel_too.shared.f.0"):
        _store.Store(other).save(CODE)
    left = {path.name for path in Path(_store.cache_dir()).iterdir()}
    assert left >= {f"some.kernel.shared.f.{i:012}" for i in range(4, 10)} and len(left) == _store.KEPT + 3


def unlockable(*args: object) -> None:
    raise OSError(errno.ENOLCK, "no locks")


def test_one_process_compiles_while_others_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "folder" / "kernel")
    child = """
import sys, time
from autograd_tape.executors.kernels._store import _alone
with _alone(sys.argv[1]) as waited:
    print(waited, flush=True)
    sys.stdin.readline()
"""
    command = [sys.executable, "-c", child, path]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert other.stdin is not None and other.stdout is not None and other.stdout.readline() == "False\n"
    monkeypatch.setattr(_store, "PATIENCE", 0.1)
    with _store._alone(path) as waited:  # in vain
        assert waited
    monkeypatch.setattr(_store, "PATIENCE", 60.0)
    threading.Timer(0.2, other.communicate, ["\n"]).start()
    with _store._alone(path) as waited:
        assert waited and other.wait() == 0
    monkeypatch.setattr(fcntl, "lockf", unlockable)
    with _store._alone(path) as waited:  # where files cannot be locked
        assert not waited
    assert not list((tmp_path / "folder").iterdir())


def test_kernels_of_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Formulas that one function makes have the same name, and none is an old file of another."""
    monkeypatch.setenv("AUTOGRAD_TAPE_CACHE_DIR", str(tmp_path))
    files = {_store.file_name("formulas.some.function", "shared", "f", f"formula {i}") for i in range(10)}
    for name in files:
        _store.Store(name).save(CODE)
    assert {path.name for path in Path(_store.cache_dir()).iterdir()} == files


CODE = _entry.Code("entry", ["malloc"], b"machine code" * 100)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _store.Store:
    monkeypatch.setenv("AUTOGRAD_TAPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_store, "_said", set())
    store = _store.Store("some.kernel.body.f")
    store.save(CODE)
    assert store._read() is not None
    return store


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))


def other_name(path: Path) -> None:
    other = _store.Store("another.kernel.body.f")
    other.save(CODE)
    os.replace(other.path, path)


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = {
    "garbage": lambda path: path.write_bytes(b"\x80garbage" * 1000),
    "empty": lambda path: path.write_bytes(b""),
    "header only": lambda path: cut(path, len(_store._MAGIC)),
    "digest cut": lambda path: cut(path, len(_store._MAGIC) + 5),
    "end cut": lambda path: cut(path, path.stat().st_size - 1),
    "more at the end": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "a bit of the header": lambda path: flip(path, 3),
    "a bit of the digest": lambda path: flip(path, len(_store._MAGIC) + 1),
    "a bit of the code": lambda path: flip(path, path.stat().st_size // 2),
    "another version": lambda path: path.write_bytes(path.read_bytes().replace(b"code 2\n", b"code 1\n", 1)),
    "another kernel's": other_name,
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a folder": folder_instead,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_costs_a_compilation(damage: str, store: _store.Store, capsys: pytest.CaptureFixture[str]) -> None:
    DAMAGES[damage](Path(store.path))
    assert store._read() is None
    assert capsys.readouterr().err.count("\n") == 1
    store.save(CODE)  # a folder cannot be replaced, everything else is
    assert (store._read() is None) == (damage == "a folder")
    assert len(list(Path(store.path).parent.iterdir())) == 1  # nothing half-written stays


def test_full_disk(store: _store.Store, capsys: pytest.CaptureFixture[str]) -> None:
    os.remove(store.path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        store.save(CODE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "machine code is not cached" in capsys.readouterr().err
    assert not list(Path(store.path).parent.iterdir())


@pytest.mark.parametrize("error", [PermissionError(13, "no"), OSError(30, "read-only"), OSError(5, "input/output")])
def test_folder_that_lets_nobody_in(
    error: OSError, store: _store.Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error

    monkeypatch.setattr("builtins.open", refuse)
    assert store._read() is None
    store.save(CODE)
    monkeypatch.undo()
    assert capsys.readouterr().err.count("autograd_tape:") == 2


def test_interrupted_writing_leaves_nothing(store: _store.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    os.remove(store.path)
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.save(CODE)
    assert not list(Path(store.path).parent.iterdir())


def test_old_folders_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRAD_TAPE_CACHE_DIR", str(tmp_path))
    for i in range(10):
        (tmp_path / f"kernels-{i:012}").mkdir()
        os.utime(tmp_path / f"kernels-{i:012}", (i, i))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kernels-file").write_text("kept")
    _store.Store("some.kernel").save(CODE)
    left = sorted(p.name for p in tmp_path.iterdir() if p.is_dir())
    assert len(left) == _store.KEPT + 1
    assert {"kept", "kernels-000000000009", os.path.basename(_store.cache_dir())} <= set(left)
    assert (tmp_path / "kernels-file").exists()


def start(folder: Path, cwd: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "AUTOGRAD_TAPE_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT), "AUTOGRAD_TAPE_KERNELS": "auto"}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=cwd)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """How many functions a process compiled, and what it said."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return int(out.split()[1]), err


def compiles_nothing(process: subprocess.Popen[str]) -> bool:
    """Whether a process says nothing, and all that was kept is linked without the compiler."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return (out, err) in [("compiled 0 without\n", "")] + [("compiled 0 with\n", "")] * (sys.platform != "linux")


def files(*folders: Path) -> dict[str, int]:
    """When each file was written, but for Python's own byte code: another test's process may be the first to import a module."""
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.stat().st_mtime_ns for path in found if ".pyc" not in path.name}


def test_second_process_compiles_and_writes_nothing(tmp_path: Path) -> None:
    cache, cwd = tmp_path / "cache", tmp_path / "cwd"
    cwd.mkdir()
    both = [start(cache, cwd) for _ in range(2)]  # at once, into the same folder
    counts = []
    for process in both:
        compiled, said = finish(process)
        assert said.count("autograd_tape:") == (compiled > 0), said
        counts.append(compiled)
    package = ROOT / "autograd_tape"
    before = files(cache, cwd, package)
    assert not [name for name in before if name.startswith(str(package)) and name.endswith((".nbi", ".nbc"))]
    assert sum(counts) == len([name for name in before if name.startswith(str(cache))])  # each was compiled by one of them
    assert compiles_nothing(start(cache, cwd))
    assert files(cache, cwd, package) == before
    kept = [p for p in cache.rglob("*") if p.is_file()]
    for path in kept[::2]:
        path.write_bytes(path.read_bytes()[:100])
    compiled, said = finish(start(cache, cwd))
    assert compiled > 0 and said.count("autograd_tape:") <= 2, said
    assert compiles_nothing(start(cache, cwd))
    shutil.rmtree(cache)
