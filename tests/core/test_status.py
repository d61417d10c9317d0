"""What `python -m torchcompat status` says, against the package; and the errors of names that are not here."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import types
from functools import cache
from importlib.util import find_spec

import pytest

import torchcompat as torch
from torchcompat import dropin
from torchcompat._calls.absent import AbsentAttribute, absent
from torchcompat._status import report
from torchcompat._status.names import dotted, entry, everything, recorded
from torchcompat._status.reasons import GROUPS
from torchcompat._status.report import ABSENT, PARTIAL, PRESENT, asked, lacks, main, status


@cache
def gone() -> list[str]:
    """All absent names: found by those tests that ask, for looking at everything there is compiles what there is."""
    return [name for name in everything() if status(name).state == ABSENT]


@cache
def used() -> set[str]:
    """The patterns that are the reason of something absent."""
    return {found[0] for name in gone() if (found := entry(name)) is not None}


def test_the_page_is_current() -> None:
    assert report.page().read_text() == report.markdown(), "run: python -m torchcompat status --markdown"


def test_every_absent_name_has_a_reason() -> None:
    assert len(gone()) > 1000
    assert not [name for name in gone() if entry(name) is None]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.why)
def test_no_reason_stands_for_what_is_there(group: object) -> None:
    """Each name of the table is the reason of something absent; what it names is absent, or a module or class that lacks something."""
    for name in group.names.split():
        assert name in used(), f"{name} is there, or another reason is nearer"
        if "*" not in name and name not in gone():
            home = report.found(*everything()[name]) if name in everything() else None
            assert isinstance(home, (types.ModuleType, type)), f"{name} is there"


def test_no_name_has_two_reasons() -> None:
    names = [name for group in GROUPS for name in group.names.split()]
    assert len(names) == len(set(names))


def there(module: str) -> bool:
    return isinstance(report._module(module), types.ModuleType)


def test_every_module_tells_why_a_name_of_torchs_is_absent() -> None:
    for module in filter(there, recorded()):
        for name in recorded()[module]:
            if "." not in name and status(dotted(module, name)).state == ABSENT:
                with pytest.raises(AttributeError) as error:
                    getattr(report._module(module), name)
                place = f"torch.{module}".rstrip(".")
                assert str(error.value).startswith(f"module '{place}' has no attribute '{name}': torch 2.13 has {place}.{name}, ")
                assert str(error.value).endswith(f"See `python -m torchcompat status {place}.{name}`")


def test_every_absent_attribute_of_tensors_tells_why() -> None:
    missing = [name for name in recorded()[""] if name.startswith("Tensor.") and status(name).state == ABSENT]
    assert {f"Tensor.{name}" for name, value in vars(torch.Tensor).items() if isinstance(value, AbsentAttribute)} == set(missing)
    for name in missing:
        for owner, said in ((torch.ones(2), "'Tensor' object has"), (torch.Tensor, "type object 'Tensor' has")):
            assert not hasattr(owner, name[7:])
            text = f"{said} no attribute '{name[7:]}': torch 2.13 has torch.{name}, torchcompat has not: "
            with pytest.raises(AttributeError, match=text):
                getattr(owner, name[7:])


@pytest.mark.parametrize(("read", "text"), [
    (lambda: torch.foo, "module 'torch' has no attribute 'foo'"),
    (lambda: torch.nn.Foo, "module 'torch.nn' has no attribute 'Foo'"),
    (lambda: torch.optim.Foo, "module 'torch.optim' has no attribute 'Foo'"),
    (lambda: torch.linalg.foo, "module 'torch.linalg' has no attribute 'foo'"),
    (lambda: torch.__foo__, "module 'torch' has no attribute '__foo__'"),
    (lambda: torch.Tensor.foo, "type object 'Tensor' has no attribute 'foo'"),
])
def test_names_that_torch_does_not_have_are_refused_in_its_words(read: object, text: str) -> None:
    with pytest.raises(AttributeError) as error:
        read()
    assert str(error.value) == text and error.value.args == (text,)


def test_the_error_is_an_attribute_error_like_any() -> None:
    error, told = absent("torchcompat", "foo"), absent("torchcompat", "dequantize")
    assert repr(error) == """AttributeError("module 'torch' has no attribute 'foo'")""" and "no quantized tensors" in repr(told)
    for one in (error, told):
        for other in (copy.copy(one), pickle.loads(pickle.dumps(one))):
            assert type(other) is AttributeError and str(other) == str(one)
    assert inspect.unwrap(torch) is torch and copy.copy(torch.ones(2)).shape == (2,)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120).stdout


def test_nothing_is_read_before_somebody_reads_the_words() -> None:
    code = ("import sys, torchcompat as torch\n"
            "print(any([hasattr(torch, 'dequantize'), hasattr(torch.nn, 'Foo'), hasattr(torch.ones(1), 'q_scale')]),\n"
            "      'torchcompat._status' in sys.modules)\n"
            "try: torch.dequantize\n"
            "except AttributeError as error: print('no quantized tensors' in str(error), 'torchcompat._status.names' in sys.modules)")
    assert run(code).split() == ["False", "False", "True", "True"]


def test_imports_of_absent_modules_tell_why() -> None:
    text = "No module named 'torchcompat.quantization': torch 2.13 has torch.quantization, torchcompat has not: "
    with pytest.raises(ModuleNotFoundError, match=text) as error:
        __import__("torchcompat.quantization")
    assert error.value.name == "torchcompat.quantization"
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'torchcompat.jot'$"):
        __import__("torchcompat.jot")
    assert find_spec("torchcompat.quantization") is find_spec("torchcompat.jot") is None
    for name in ("quantization", "dequantize", "func.rearrange"):
        home, _, last = f"torchcompat.{name}".rpartition(".")
        with pytest.raises(ImportError, match=f"^cannot import name '{last}' from '{home}': torch 2.13 has torch.{name}, ") as error:
            exec(f"from {home} import {last}")
        assert type(error.value) is ImportError
    with pytest.raises(ImportError, match=r"^cannot import name 'jot' from 'torchcompat' \("):
        exec("from torchcompat import jot")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'torchcompat.quantization': torch 2.13 has torch.quantization, "):
        exec("from torchcompat.quantization.observer import MinMaxObserver")
    if "torch" not in sys.modules:
        dropin.install()
        try:
            with pytest.raises(ModuleNotFoundError, match="No module named 'torch.quantization': torch 2.13 has torch.quantization, "):
                __import__("torch.quantization")
        finally:
            dropin.uninstall()


def test_differences_are_keywords_that_are_not_taken() -> None:
    assert lacks(lambda input, *, dim=None: None, "f", ["input dim= * out= _own=", "input *size"]) == ["out"]
    assert lacks(torch.sum, "sum", ["input axis keepdims= dims="]) == ["dims"]
    assert lacks(torch.Tensor.cumsum, "Tensor.cumsum", ["self dim * dims="]) == ["dims"]
    assert lacks(lambda **keywords: None, "f", ["input"]) == [] and lacks(3, "f", ["input"]) == []


def test_questions() -> None:
    assert [row.state for row in asked("torch.nn.Linear")[0]][0] == PRESENT
    assert {row.name for row in asked("linalg")[0]} > {"linalg", "linalg.svd"}
    assert [row.name for row in asked("torch.linalg.lu_")[0]] == ["linalg.lu_factor", "linalg.lu_factor_ex", "linalg.lu_solve"]
    assert asked("torch.quantization")[0] == [status("quantization")]
    assert asked("lu_factr") == ([], ["lu_factor"]) or "linalg.lu_factor" in asked("lu_factr")[1]


@pytest.mark.parametrize(("arguments", "code", "text"), [
    ([], 0, "torch.nn.functional "), (["nn.Linear"], 0, "torch.nn.Linear"), (["torch.quantization"], 0, "there are no quantized tensors"),
    (["--absent", "linalg"], 0, ""), (["--partial"], 0, PARTIAL), (["nothing_like_it"], 1, "torch 2.13 has no 'nothing_like_it'"),
])
def test_the_command(arguments: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert text in printed.out + printed.err
