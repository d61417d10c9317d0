"""The ways by which `import torch` means torchcompat; and that a program runs as Python runs it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

import torchcompat
from torchcompat import dropin
from torchcompat._calls import startup

ROOT = Path(torchcompat.__file__).parents[1]
ROOM = ROOT / "torchcompat" / "_calls"
FAILING = """import atexit, pickle, sys
class Kept: pass
def last():
    print("at exit", Kept.__name__)
atexit.register(last)
print(sorted(name for name in globals() if name.startswith("__") and name != "__annotations__"))
print(__name__, __spec__ and __spec__.name, __package__, sys.argv, sys.path[0], globals().get("__file__"))
print(type(pickle.loads(pickle.dumps(Kept()))) is Kept, sys.modules["__main__"].Kept is Kept)
def fails(x):
    raise ValueError(x) from KeyError(1)
"""
PROGRAMS = {
    "error": (FAILING + "fails('in vain')\n", ["program.py", "a", "-b"]),
    "no Python": ("x = (1,\n", ["program.py"]),
    "ended": ("import sys\nsys.exit('for a reason')\n", ["program.py"]),
    "interrupted": ("raise KeyboardInterrupt\n", ["program.py"]),
    "a hook": (FAILING + "sys.excepthook = lambda t, e, tb: print('hook', e, tb.tb_lineno)\nfails(2)\n", ["program.py"]),
    "a module": (FAILING + "fails('in vain')\n", ["-m", "program", "a"]),
    "no such module": ("", ["-m", "nowhere.at.all"]),
    "annotations": ("def f(x: int) -> str: ...\nprint(f.__annotations__)\n" + FAILING + "fails(0)\n", ["program.py"]),
    "a line": ("", ["-c", "import sys; print(sys.argv, sys.path[0] == '', '__file__' in globals())\nraise ValueError(1)", "-x"]),
}


def ran(arguments: list[str], folder: Path, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, text=True, capture_output=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **environment})
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_as_it_does_by_itself(name: str, tmp_path: Path) -> None:
    source, arguments = PROGRAMS[name]
    (tmp_path / "program.py").write_text(source)
    plain = ran(arguments, tmp_path)
    assert plain[0] and ran(["-m", "torchcompat", *arguments], tmp_path) == plain


def test_archives_and_what_is_typed_run(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "program.pyz", "w") as archive:
        archive.writestr("__main__.py", "import torch, beside, sys\nprint(beside.x, torch.ones(1).item(), sys.argv)\n")
        archive.writestr("beside.py", "x = 3\n")
    assert ran(["-m", "torchcompat", "program.pyz", "a"], tmp_path) == (0, "3 1.0 ['program.pyz', 'a']\n", "")
    done = subprocess.run([sys.executable, "-m", "torchcompat", "-"], cwd=tmp_path, text=True, capture_output=True,
                          input="import torch\nprint(torch.zeros(1))\n", env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.stdout, done.stderr) == ("tensor([0.])\n", "")


def startup_folder(folder: Path) -> str:
    """A folder as packages are installed in: what the build puts beside them."""
    built = (ROOT / "pyproject.toml").read_text().partition("[tool.hatch.build.targets.wheel.force-include]\n")[2].partition("\n\n")[0]
    for line in built.splitlines():
        here, there = (part.strip('" ') for part in line.split("="))
        (folder / there).write_bytes((ROOT / here).read_bytes())
    return str(folder)


@pytest.mark.skipif(find_spec("torch") is not None, reason="this machine has torch")
@pytest.mark.parametrize(("setting", "found"), [("", "False ModuleNotFoundError\n"), ("1", "True torch 2.0 True\n")])
def test_an_environment_asks_for_it(setting: str, found: str, tmp_path: Path) -> None:
    code = (f"import site, sys; site.addsitedir({startup_folder(tmp_path)!r})\n"
            "print('_torchcompat_startup' in sys.modules, end=' ')\nassert 'torchcompat' not in sys.modules\n"
            "try:\n    import importlib.metadata as m; known = m.version('Torch') if '_torchcompat_startup' in sys.modules else None\n"
            "    import torch\n    print(torch.__name__, torch.ones(2).sum().item(), torch.__version__ == known)\n"
            "except ImportError as error: print(type(error).__name__)")
    assert ran(["-c", code], tmp_path, TORCHCOMPAT_AS_TORCH=setting) == (0, found, "")


@pytest.mark.parametrize("always", [False, True])
def test_torch_is_shadowed_only_where_somebody_asks_for_it(always: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch-9.9.dist-info").mkdir()
    (tmp_path / "torch-9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    startup.start("always" if always else "1")
    try:
        assert metadata.version("torch") == "9.9"
        assert (Path(find_spec("torch").origin).parent == tmp_path / "torch") is not always  # type: ignore[union-attr,arg-type]
    finally:
        dropin.uninstall()


def test_functorch_may_be_the_first_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if finder is not dropin._finder])
    startup.start("always")
    try:
        found = find_spec("functorch")
        assert found is not None and Path(str(found.origin)).parent.parent.name == "_functorch"
    finally:
        dropin.uninstall()


def test_other_settings_are_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = list(sys.meta_path)
    for setting in ("", "0", "yes"):
        startup.start(setting)
    assert sys.meta_path == before and capsys.readouterr().err == "TORCHCOMPAT_AS_TORCH is neither 1 nor always: 'yes'\n"


def test_pytest_has_it_before_any_conftest(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import torch\n")
    (tmp_path / "test_it.py").write_text("import torch\ndef test_it():\n    assert torch.__torchcompat__\n")
    code, out, errors = ran(["-m", "pytest", "-q", "-p", "torchcompat.dropin", "-p", "no:cacheprovider", str(tmp_path)], tmp_path)
    assert code == 0 and "1 passed" in out, out + errors


def test_by_a_line_of_the_program() -> None:
    assert torchcompat.install is dropin.install and "install" in dir(torchcompat)


class OfTorch:
    """As a tensor of torch itself is: its function calls what it is asked about again."""

    def __array__(self, dtype: object = None, copy: object = None) -> object:
        return torchcompat.ones(2).numpy()

    @classmethod
    def __torch_function__(cls, func: object, types: object, args: tuple[object, ...] = (), kwargs: object = None) -> object:
        return func(*args, **(kwargs or {}))  # type: ignore[operator]

    __torch_function__.__func__.__module__ = "torch._tensor"  # type: ignore[attr-defined]


def test_tensors_of_torch_in_the_same_process_do_not_go_round() -> None:
    assert torchcompat.as_tensor(OfTorch()).tolist() == [1, 1]
    with pytest.raises(TypeError, match="unsupported operand type"):
        torchcompat.ones(2) + OfTorch()
    assert torchcompat.Tensor.__torch_function__(len, (torchcompat.Tensor,), ([],)) is NotImplemented
