"""Scripted, traced, saved and loaded programs against torch's; files of torch's; files that are hostile."""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from tests.recording import FIXTURES

import torchcompat as torch
from autograd_tape.ops import ALIASES, RECORDS
from torchcompat import nn
from torchcompat.jit import _code

from .jit_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_programs(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize("name", ["scripted", "traced"])
def test_files_of_torch(name: str) -> None:
    extra: dict[str, Any] = {"found": ""}
    module = torch.jit.load(FIXTURES / f"jit_{name}.pt", _extra_files=extra)
    given = torch.ones(2, 3) if name == "scripted" else torch.ones(2, 2, 4, 4)
    found = torch.tensor([float(x) for x in extra["found"].decode().split()])
    assert torch.allclose(module(given)[0].view(-1), found, atol=1e-6)
    again = torch.jit.load(io.BytesIO(module.save_to_buffer()))
    assert torch.equal(again(given)[0], module(given)[0]) and list(again.state_dict()) == list(module.state_dict())
    if name == "scripted":
        assert module.length(2) == 4 and module.names == ["a", "b"]
        with pytest.raises(RuntimeError, match="ValueError: too much"):
            module(given, torch.full((2, 3), 1e6))


# -- modules of this package ----------------------------------------------------------------------------------------------------------


def modules() -> Iterator[tuple[nn.Module, tuple[Any, ...]]]:
    """Modules of all kinds, with what they are called with."""
    x, x1, x2 = torch.randn(3, 4), torch.randn(2, 4, 8), torch.randn(2, 4, 8, 8)
    for one in (nn.Linear(4, 3), nn.Linear(4, 3, bias=False), nn.ReLU(inplace=True), nn.GELU("tanh"), nn.Softmax(1), nn.LeakyReLU(0.1),
                nn.SELU(),
                nn.PReLU(), nn.LogSigmoid(), nn.Softsign(), nn.Dropout(0.5).eval(), nn.GRUCell(4, 3), nn.LSTMCell(4, 3), nn.RNNCell(4, 3),
                nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))):
        yield one, (x,)
    for one in (nn.Conv1d(4, 3, 3, padding=1), nn.BatchNorm1d(4), nn.LayerNorm(8), nn.AvgPool1d(2), nn.LSTM(8, 3), nn.GRU(8, 3), nn.RNN(8,
                3),
                nn.LSTM(8, 3, num_layers=2, batch_first=True, bidirectional=True)):
        yield one, (x1,)
    for one in (nn.Conv2d(4, 4, 3, padding="same", groups=2), nn.ConvTranspose2d(4, 3, 2), nn.BatchNorm2d(4, affine=False),
                nn.GroupNorm(2, 4),
                nn.InstanceNorm2d(4), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d((2, 3)), nn.Upsample(scale_factor=2), nn.PixelShuffle(2),
                nn.ReflectionPad2d(1), nn.Unfold(2), nn.Flatten()):
        yield one, (x2,)
    index, target = torch.tensor([[0, 1], [2, 1]]), torch.tensor([0, 1, 2])
    yield nn.Embedding(5, 3, padding_idx=0), (index,)
    yield nn.CrossEntropyLoss(), (x, target)
    yield nn.MSELoss(), (x, x * 2)
    yield nn.BCEWithLogitsLoss(), (x, x.sigmoid())
    yield nn.CosineSimilarity(), (x, x * 2)


NAMES = [repr(module).split("\n")[0] for module, _ in modules()]


def flat(value: Any) -> list[Any]:
    return [value] if isinstance(value, torch.Tensor) else [t for x in value for t in flat(x)]


@pytest.mark.parametrize("way", ["scripted", "traced"])
@pytest.mark.parametrize("number", range(len(NAMES)), ids=lambda number: NAMES[number])
def test_modules_are_loaded_as_they_were_saved(number: int, way: str) -> None:
    torch.manual_seed(0)
    module, given = list(modules())[number]
    if way == "scripted":
        made = torch.jit.script(module)
    else:
        made = torch.jit.trace(module, tuple(x.clone() for x in given))
    loaded = torch.jit.load(io.BytesIO(made.save_to_buffer()))
    expected = flat(module(*[x.clone() for x in given]))
    for one in (made, loaded):
        found = flat(one(*[x.clone() for x in given]))
        assert len(found) == len(expected) and all([torch.allclose(a, b, atol=1e-6) for a, b in zip(found, expected)])


# -- hostile files ----------------------------------------------------------------------------------------------------------------------


def archive(body: str, state: dict[str, Any] | None = None, name: str = "M", more: str = "") -> bytes:
    """An archive of a module whose class has this body."""
    stream = io.BytesIO()
    data = pickle.PROTO + b"\x02" + pickle.GLOBAL + f"__torch__\n{name}\n".encode() + pickle.EMPTY_TUPLE + pickle.NEWOBJ
    data += pickle.EMPTY_DICT + pickle.BINUNICODE + b"\x08\0\0\0training" + pickle.NEWTRUE + pickle.SETITEM + pickle.BUILD + pickle.STOP
    with zipfile.ZipFile(stream, "w") as file:
        lines = "".join([f"  {line}\n" for line in body.split("\n")])
        file.writestr("m/code/__torch__.py", f"class {name}(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : "
                                             f"bool\n{lines}{more}")
        file.writestr("m/data.pkl", state["data"] if state else data)
        file.writestr("m/constants.pkl", pickle.PROTO + b"\x02" + pickle.EMPTY_TUPLE + pickle.STOP)
        file.writestr("m/version", "3\n")
    return stream.getvalue()


def run(body: str, *args: Any) -> Any:
    return torch.jit.load(io.BytesIO(archive(f"def forward(self, x: Tensor):\n{body}")))(*args or (torch.ones(2),))


def test_a_small_file_is_a_module() -> None:
    assert torch.equal(run("  return torch.add(x, 1)"), torch.full((2,), 2.0))


HOSTILE = [
    "  return __import__('os').system('true')", "  import os\n  return x", "  return x.__class__", "  return x.__reduce__()", "  return "
    "self.__class__",
    "  return self.__dict__", "  return self._modules", "  return self.forward.__globals__", "  return torch.__builtins__", "  return "
    "torch.load('file')",
    "  return torch.save(x, 'file')", "  return torch.hub.load('a', 'b')", "  return ops.os.system('true')", "  return "
    "torch.ops.load_library('a')",
    "  return torch.from_file('file')", "  return (lambda: x)()", "  return eval('x')", "  return exec('x')", "  return open('file')",
    "  return getattr(x, '__class__')", "  return '{0.__class__}'.format(x).zfill.__func__", "  return [y for y in "
                                                                                             "x].__class__", "  return "
    "x.apply_(print)",
    "  return x.map_(x, print)", "  return x.register_hook(print)", "  return x.numpy()", "  return type(x)", "  return "
                                                                                                              "vars(x)", "  return "
    "globals()",
    "  return torch.set_default_dtype(6)", "  return ops.torchcompat.handle_torch_function(x)", "  return ops.prim.PythonOp(x)", "  with "
    "open('f') as g:\n    return x",
    "  return torch.Tensor.__subclasses__()", "  x.__class__ = 3\n  return x", "  self.__class__ = 3\n  return x", "  self._methods = "
                                                                                                                   "3\n  return x",
    "  return __torch__.os.system('true')", "  return CONSTANTS.c0", "  return CONSTANTS.__class__", "  try:\n    return x\n  "
                                                                                                     "finally:\n    pass",
    "  return (yield x)", "  global x\n  return x", "  class A: pass\n  return x", "  def f(): return x\n  return f()", "  return f'{x!r}'",
    "  return (y := x)", "  return b'a'", "  return print.__self__", "  return x if (await x) else x", "  return {1, 2}", "  return "
                                                                                                                          "x.data.__class__",
    "  return torch.empty_like.__globals__", "  return ops.aten.load(x)", "  raise x.y\n  return x", "  return "
                                                                                                     "torch._C._jit_get_all_schemas()",
]


@pytest.mark.parametrize("body", HOSTILE)
def test_programs_reach_nothing_but_operations(body: str) -> None:
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        run(body)


def test_braces_look_nothing_up() -> None:
    assert run("  return torch.format('{} {0.__class__}', 1)") == "1 {0.__class__}"


@pytest.mark.parametrize("text", ["class M(os.system):\n  pass", "@print\nclass M(Module):\n  pass", "print('a')", "class "
                                                                                                                   "M(Module):\n  def "
                                  "f(self, x=print('a')):\n    pass", "class M(Module):\n  x : Final[int] = print('a')", "(" * 5000, "\0",
                                  "class M(Module):\n  def forward(self, *x):\n    pass"])
def test_sources_that_are_none(text: str) -> None:
    unit = _code.Unit(lambda name: text)
    with pytest.raises(RuntimeError):
        unit.find("__torch__.M")


@pytest.mark.parametrize("data", [
    b"cos\nsystem\n(X\x04\0\0\0truetR.", b"cbuiltins\neval\n(X\x01\0\0\0xtR.", b"c__torch__\nNone\n)\x81.",
    b"c__torch__.os\nsystem\n)\x81.",
    b"c__torch__\nM\n)\x81}X\x08\0\0\0__dict__K\x01sb}b.", b"c__torch__\nM\n(K\x01tR.", b"c__torch__\nM\n)\x81K\x01b.", b"K\x01.",
    b"ctorch.jit._pickle\nos\n)R.", b"ctorch.jit._pickle\nrestore_type_tag\n(cposix\nsystem\nK\x01tR.",
])
def test_pickles_make_nothing_but_modules(data: bytes) -> None:
    file = archive("def forward(self, x: Tensor):\n  return x", {"data": b"\x80\x02" + data})
    with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
        torch.jit.load(io.BytesIO(file))


def test_nothing_is_carried_out_while_a_file_is_loaded() -> None:
    body = "def __setstate__(self, x: Tensor):\n  print('carried out')\ndef forward(self, x: Tensor):\n  return x"
    with pytest.raises(pickle.UnpicklingError, match="restores itself by a program"):
        torch.jit.load(io.BytesIO(archive(body)))


def test_the_fields_of_a_module_do_not_change_what_it_is() -> None:
    inner = b"X\x08\0\0\0_methodsK\x01X\x07\0\0\0forwardK\x02X\x09\0\0\0__class__K\x03X\x08\0\0\0training\x88"
    data = b"\x80\x02c__torch__\nM\n)\x81}(" + inner + b"ub."
    module = torch.jit.load(io.BytesIO(archive("def forward(self, x: Tensor):\n  return x", {"data": data})))
    assert type(module) is torch.jit.RecursiveScriptModule and torch.equal(module(torch.ones(2)), torch.ones(2))


def test_cut_files_are_refused() -> None:
    whole = torch.jit.script(nn.Linear(2, 2)).save_to_buffer()
    for end in range(0, len(whole), 97):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            torch.jit.load(io.BytesIO(whole[:end]))


# -- what tracing leaves behind -------------------------------------------------------------------------------------------------------


def test_after_a_trace_tensors_are_as_they_were() -> None:
    before = [vars(torch.Tensor).get(name) for name in ("shape", "size", "__len__", "__iter__", "numpy", "tolist")]
    with pytest.raises(ZeroDivisionError):
        torch.jit.trace(lambda x: 1 // 0, torch.ones(2))
    torch.jit.trace(lambda x: x * x.shape[0], torch.ones(2))
    assert before == [vars(torch.Tensor).get(name) for name in ("shape", "size", "__len__", "__iter__", "numpy", "tolist")]
    assert type(torch.ones(2).shape[0]) is int and not torch.jit.is_tracing()


def test_programs_are_deprecated_as_torchs_are() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.jit.trace(nn.ReLU(), torch.ones(2), check_trace=False)
    assert [str(w.message).split(" is ")[0] for w in told] == ["`torch.jit.trace`", "`torch.jit.trace_method`"]


def test_a_dimension_by_position_is_one_in_traces_too() -> None:
    x, seen, refused = torch.arange(24.0).reshape(2, 3, 4), 0, list[str]()
    for name in sorted(n for n in set(dir(torch.Tensor)) & set(torch.__all__) if n[-1] != "_" and ALIASES.get(n, n) in RECORDS):
        if "dim" not in {p.name for p in RECORDS[ALIASES.get(name, name)].params}:
            continue

        def program(t: Any, name: str = name) -> Any:
            return getattr(t, name)(0)

        try:
            expected = program(x)
        except (TypeError, RuntimeError):  # it takes no dimension alone
            refused.append(name)
            continue
        if isinstance(expected, torch.Tensor) and expected.layout is torch.strided and not name.startswith(("new", "_")):
            seen += 1
            found = torch.jit.trace(program, x, check_trace=False)(x)
            assert torch.equal(expected.nan_to_num(), found.nan_to_num()), name
    assert seen > 20 and len(refused) < 60
