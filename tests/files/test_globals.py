"""A file gets what the table of globals has for it, and nothing else: every name, with every kind of wrong argument."""

from __future__ import annotations

import collections
import gc
import pickle
import weakref
from typing import Any

import pytest
from tests.files.forge import EMPTY, Built, Call, Name, Raw, file, operations, pickled, storage, tensor

import torchcompat as torch
from torchcompat._files.rebuild import ABSENT, REBUILDERS, table
from torchcompat._memory.layout import layout
from torchcompat.storage import TypedStorage

REFUSED = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)
"""All that a file can raise. These and no others, subclasses of ValueError such as UnicodeError left out."""

TABLE = {path: Name(*path.rsplit(".", 1)) for path in table()}
FROM_TYPE = TABLE["torch._tensor._rebuild_from_type_v2"]
PARAMETER = TABLE["torch._utils._rebuild_parameter"]
V2 = TABLE["torch._utils._rebuild_tensor_v2"]
RECORDS = {"0": bytes(16)}


def load(value: Any) -> Any:
    return torch.load(file(pickled(value), RECORDS))


def refused(value: Any, *errors: Any) -> None:
    with pytest.raises(errors or REFUSED) as caught:
        load(value)
    assert type(caught.value) in REFUSED


def harmless(value: Any, depth: int = 0) -> None:
    """Whether an object is what a file may hold."""
    kind = type(value)
    if isinstance(value, torch.Tensor):
        assert kind in (torch.Tensor, torch.nn.Parameter)
        assert value.device.type == "meta" or value.numel() < 10**6 or 0 in value.stride()
    elif kind in (list, tuple, set, torch.Size, dict, collections.OrderedDict, collections.Counter):
        assert len(value) < 100
        for item in value:
            harmless(item)
            if isinstance(value, dict):
                harmless(value[item])
    elif kind in (bytes, bytearray, str):
        assert len(value) < 10_000
    elif kind not in (int, float, complex, bool, type(None), torch.dtype, torch.device, layout, TypedStorage):
        assert any(value is named.value for named in table().values()), value


T = tensor()
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63), 2**2000, 0.5, float("nan"), float("inf"), 1e308,
    "", "a", "0", "cpu", "meta", "cuda:99", "__class__", "latin1", "zip", "hex", "idna", "../../x", "a" * 5000, "torch.strided", "strided",
    b"", b"ab", (), (1,), (1, 2), (-1,), (2**70,), ("a",), ((),), ((1, 2),), (None,) * 40, (2**40,) * 3,
    [], [1], [[1, 2]], [["a", 1]], [[]], [[[1], 2]], [2**62], {}, {"a": 1}, {"_data": None}, {"__class__": None}, {1: 2}, {"conj": True},
    EMPTY, T, storage(), storage(16, "UntypedStorage"), Call(PARAMETER, (T, True, None)),
    Raw(operations(()) + b"\x85" * 200), Raw(b"](" + b"](" * 60 + b"e" * 61),
]  # fmt: skip
GLOBALS = list(TABLE.values())


@pytest.mark.parametrize("path", TABLE)
def test_every_name_with_wrong_arguments(path: str) -> None:
    name = TABLE[path]
    harmless(load(name))
    cases: list[Any] = [Call(name, arguments) for arguments in (None, 1, "ab", [1], {"a": 1}, (), name, T)]
    cases += [Call(name, (value,)) for value in VALUES + GLOBALS]
    cases += [Call(name, (value,) * n) for value in VALUES for n in (2, 4, 7)]
    cases += [Call(name, ("a", value)) for value in VALUES] + [Call(name, (T, value)) for value in VALUES]
    cases += [Call(call.function, call.arguments, new=True) for call in cases[:120]]
    cases += [Built(name, value) for value in VALUES]
    cases += [Built(Call(name, arguments), value) for value in VALUES[::3] for arguments in ((), (T,), ((1, 2),), ("cpu",))]
    for case in cases:
        try:
            found = load(case)
        except REFUSED as error:
            assert type(error) in REFUSED
        else:
            harmless(found)


def _untyped(size: tuple[int, ...], dtype: str) -> Call:
    """A tensor over the one storage, whatever its dtype."""
    return Call(TABLE["torch._utils._rebuild_tensor_v3"], (storage(16, "UntypedStorage"), 0, size, (*size[1:], 1), False, EMPTY,
                                                           Name("torch", dtype), None))


GOOD = {
    "_rebuild_tensor": (storage(), 0, (4,), (1,)),
    "_rebuild_tensor_v2": (storage(), 0, (4,), (1,), False, EMPTY, None),
    "_rebuild_tensor_v3": (storage(16, "UntypedStorage"), 0, (4,), (1,), False, EMPTY, Name("torch", "float32"), None),
    "_rebuild_parameter": (T, True, EMPTY),
    "_rebuild_parameter_with_state": (T, True, EMPTY, {"note": 1}),
    "_rebuild_meta_tensor_no_storage": (Name("torch", "float32"), (4,), (1,), False),
    "_rebuild_sparse_tensor": (Call(TABLE["torch.serialization._get_layout"], ("torch.sparse_coo",)), (
        _untyped((1, 2), "int64"), _untyped((2,), "float32"), (3,), False)),
    "_rebuild_nested_tensor": (_untyped((4,), "float32"), _untyped((1, 1), "int64"), _untyped((1, 1), "int64"), _untyped((1,), "int64")),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_argument_of_the_functions_that_make_tensors(name: str) -> None:
    assert GOOD.keys() == REBUILDERS.keys()
    function, good = TABLE[f"torch._utils.{name}"], GOOD[name]
    assert isinstance(load(Call(function, good)), torch.Tensor)
    for at in range(len(good)):
        for value in VALUES + GLOBALS:
            arguments = (*good[:at], value, *good[at + 1 :])
            try:
                found = load(Call(function, arguments))
            except REFUSED as error:
                assert type(error) in REFUSED
            else:
                assert isinstance(found, torch.Tensor)
                harmless(found)


def test_tensors_are_made_by_functions_of_the_table_only() -> None:
    good = load(Call(FROM_TYPE, (V2, TABLE["torch.Tensor"], (storage(), 0, (4,), (1,), False, None), {"note": 1})))
    assert good.note == 1 and good.tolist() == [0.0] * 4
    rebuilders = {f"torch._utils.{name}" for name in REBUILDERS}
    for path, name in TABLE.items():
        arguments = GOOD.get(path.rsplit(".", 1)[1], ())
        if path not in rebuilders:
            refused(Call(FROM_TYPE, (name, TABLE["torch.Tensor"], arguments, {})), pickle.UnpicklingError)
        if path not in ("torch.Tensor", "torch.nn.parameter.Parameter"):
            refused(Call(FROM_TYPE, (V2, name, GOOD["_rebuild_tensor_v2"], {})), pickle.UnpicklingError)
    nested = Call(FROM_TYPE, (V2, TABLE["torch.Tensor"], GOOD["_rebuild_tensor_v2"], {}))
    refused(Call(FROM_TYPE, (FROM_TYPE, TABLE["torch.Tensor"], nested.arguments, {})), pickle.UnpicklingError)


OWN = sorted({name for cls in torch.nn.Parameter.__mro__ for name in vars(cls)
             if not name.islower() or hasattr(torch.nn.Parameter, name)} | {"__class__", "__dict__", "__anything__"})


def test_nothing_that_a_tensor_has_is_set() -> None:
    assert {"_data", "_k", "_node", "_v", "_base", "_grad", "shape", "sum", "__class__", "__dict__", "__setstate__"} <= set(OWN)
    for name in OWN:
        refused(Call(FROM_TYPE, (V2, TABLE["torch.Tensor"], GOOD["_rebuild_tensor_v2"], {name: None})), pickle.UnpicklingError)
        refused(Call(TABLE["torch._utils._rebuild_parameter_with_state"], (T, True, None, ({"a": 1}, {name: T}))), pickle.UnpicklingError)
    for instance in (T, Call(PARAMETER, (T, True, None))):
        refused(Built(instance, {"_data": None}), pickle.UnpicklingError)
    for state in (3, "ab", [("a", 1)], ({}, {}, {}), ((), ()), {1: 2}, {("a",): 1}):
        refused(Call(FROM_TYPE, (V2, TABLE["torch.Tensor"], GOOD["_rebuild_tensor_v2"], state)), pickle.UnpicklingError)
    for mark in ({"_is_param": 1}, {"_is_param": T}, {"_is_buffer": "yes"}, {"persistent": None}):
        refused(Call(FROM_TYPE, (V2, TABLE["torch.Tensor"], GOOD["_rebuild_tensor_v2"], mark)), pickle.UnpicklingError)


def test_an_ordered_dict_keeps_its_methods() -> None:
    assert load(Built(EMPTY, {"_metadata": {"version": 1}}))._metadata == {"version": 1}
    for state in ({"keys": 1}, {"__class__": 1}, {"items": None}, {1: 2}, None, 3, [("a", 1)], ({}, {}), {"_metadata": 1, "pop": 2}):
        refused(Built(EMPTY, state), pickle.UnpicklingError)


@pytest.mark.parametrize("path", [
    "torch.serialization._get_layout.__globals__", "torch.serialization.torch.save", "torch._utils._rebuild_tensor_v2.__wrapped__",
    "torch.Tensor.__init_subclass__", "torch.Tensor.set_", "torch.Size.numel", "torch.device.__class__", "torch.float32.np",
    "torch.save", "torch.load", "torch.nn.Module", "torch.serialization.os.system", "torch.serialization.pickle.loads", "torch.FloatTensor",
    "torch.storage.UntypedStorage.from_file", "torch.UntypedStorage", "torchcompat._files.rebuild.set_state", "torch.__builtins__.eval",
    "collections.OrderedDict.fromkeys", "collections.namedtuple", "builtins.eval", "builtins.getattr", "builtins.bytes", "builtins.set.add",
    "os.system", "posix.system", "sys.exit", "nt.system", "subprocess.Popen", "_codecs.decode", "_codecs.register", "codecs.encode",
    "__builtin__.eval", "copy_reg._reconstructor", "copyreg._reconstructor", "operator.attrgetter", "functools.partial", "", ".", "torch.",
])  # fmt: skip
def test_names_are_looked_up_in_one_table(path: str) -> None:
    for at in [n for n, character in enumerate(path + ".") if character == "."]:
        refused(Name(path[:at], path[at + 1 :]), pickle.UnpicklingError)
        refused(Call(Name(path[:at], path[at + 1 :]), ()), pickle.UnpicklingError)


@pytest.mark.parametrize("name", [
    "__builtins__", "save", "serialization", "torch.save", "__dict__", "Tensor", "float32", "contiguous_format", "",
])  # fmt: skip
def test_layouts_are_layouts(name: str) -> None:
    refused(Call(Name("torch.serialization", "_get_layout"), (name,)), pickle.UnpicklingError)
    assert load(Call(Name("torch.serialization", "_get_layout"), ("torch.sparse_coo",))) is torch.sparse_coo


@pytest.mark.parametrize("path", sorted(ABSENT))
def test_what_is_not_here_is_refused_by_name(path: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match="torchcompat has no "):
        load(Name(*path.rsplit(".", 1)))
    with pytest.raises(pickle.UnpicklingError, match="torchcompat has no "):
        torch.load(file(pickled(Name(*path.rsplit(".", 1)))), weights_only=False)


class Loud:
    """Of a caller who trusts it."""

    def __init__(self, *arguments: Any) -> None:
        raise AssertionError("only __new__ is called")

    def __setstate__(self, state: Any) -> None:
        raise KeyError(state)


class Marked(torch.Tensor):
    __slots__ = ("mark",)
    scale = 1.0


def test_what_the_caller_trusts() -> None:
    loud, marked = (Name(cls.__module__, cls.__qualname__) for cls in (Loud, Marked))
    made = Call(FROM_TYPE, (V2, marked, GOOD["_rebuild_tensor_v2"], ({"scale": 2.0}, {"mark": 3})))
    refused(Call(loud, (), new=True), pickle.UnpicklingError)
    refused(made, pickle.UnpicklingError)
    with torch.serialization.safe_globals([Loud, Marked]):
        assert type(load(Call(loud, (), new=True))) is Loud
        with pytest.raises(KeyError, match="5"):  # an error of the class, not of the file
            load(Built(Call(loud, (), new=True), 5))
        with pytest.raises(AssertionError, match="only __new__"):
            load(Call(loud, ()))
        found = load(made)
        assert type(found) is Marked and found.scale == 2.0 and found.mark == 3 and found.tolist() == [0.0] * 4
        refused(Call(FROM_TYPE, (V2, loud, GOOD["_rebuild_tensor_v2"], {})), pickle.UnpicklingError)
        refused(Built(Call(FROM_TYPE, (V2, marked, GOOD["_rebuild_tensor_v2"], {})), {"_data": None}), pickle.UnpicklingError)
    refused(made, pickle.UnpicklingError)
    # What is trusted by a name of the table does not take its place.
    with torch.serialization.safe_globals([(Loud, "torch.Size")]):
        assert type(load(Call(Name("torch", "Size"), ((1, 2),)))) is torch.Size


def test_nothing_is_kept_of_a_file() -> None:
    gc.disable()
    try:
        for weights_only in (True, False):
            found = torch.load(file(pickled([T, [T]]), RECORDS), weights_only=weights_only)
            memory = weakref.ref(found[0].untyped_storage()._owner)
            del found
            assert memory() is None
    finally:
        gc.enable()


MEMO, TEXT = b"q\x01", operations("a" * 1000)


@pytest.mark.parametrize("data", [
    TEXT + MEMO + (b"c_codecs\nencode\nq\x02" + operations("latin1") + b"q\x03" + b"](" + b"h\x02h\x01h\x03\x86R" * 3000 + b"e"),
    b"](" + b"K\x01" * 1000 + b"eq\x01" + b"cbuiltins\nset\nq\x02](" + b"h\x02h\x01\x85R" * 3000 + b"e",
    b"(" + b"K\x01" * 1000 + b"tq\x01" + b"ctorch\nSize\nq\x02](" + b"h\x02h\x01\x85R" * 3000 + b"e",
    b"(" + b"K\x01" * 1000 + b"tq\x01](" + b"}h\x01Ns" * 3000 + b"e",
    b"(t" + b"\x85" * 60 + b"q\x01}h\x01Ns", b"(t" + b"\x85" * 100_000 + b"q\x01}h\x01Ns", b"](t" + b"\x85" * 100_000 + b"a",
    b"(t" + b"q\x01h\x01\x86" * 60 + b"q\x01}h\x01Ns", b"](t" + b"q\x01h\x01\x86" * 100 + b"acbuiltins\nset\nh\x01\x85R",
    b"(t" + b"q\x01h\x01\x86" * 100 + b"q\x01h\x01R", b"(t" + b"\x85" * 100_000 + b"q\x01h\x01R",
    b"](" * 100_000 + b"e" * 100_000 + b"\x85R", b"(" * 200_000, b"\x8a\xff" + b"\xff" * 255 + b"\x85\x85R",
])  # fmt: skip
def test_work_is_bounded_by_the_size_of_the_file(data: bytes) -> None:
    try:
        found = torch.load(file(b"\x80\x02" + data + b"."))
    except REFUSED as error:
        assert type(error) in REFUSED and len(str(error)) < 5000
    else:
        assert type(found) is list and len(found) == 1  # nested, but nothing looked into it


@pytest.mark.parametrize("data", [
    b"", b".", b"N", b"0.", b"h\x01.", b"\x80", b"R.", b"t.", b"\x85.", b"N\x86.", b"NN\x87.", b"q\x01.", b"X\xff\xff\xff\xffab.",
    b"X\1\0\0\0\xff.",
    b"}]Ns.", b"}(Nu.", b"N(u.", b"u.", b"e.", b"N(e.", b"NNa.", b"a.", b"b.", b"Nb.", b"NNb.", b"Q.", b"NQ.", b"\x8a\xff\x01.",
    b"\x81.", b"NN\x81.",
    b"ctorch\nSize.", b"ctorch", b"c\xff\n\xff\n.", b"c\n\n.", b"U\x01\xff.", b"J\0.", b"G\0.", b"j\xff\xff\xff\xff.",
    b"\x80\x02\x95.", b"i\n\n.",
    b"o.", b"(ctorch\nSize\no.", b"P0\n.", b"\x82\x01.", b"\x92.", b"\x93.", b"V\\ud800\n.", b"I1\n.", b"L1L\n.", b"F1\n.", b"S'a'\n.",
    b"2.", b"1.",
    b"\x8f(N\x90.",
])  # fmt: skip
def test_streams_that_are_no_pickles(data: bytes) -> None:
    with pytest.raises((pickle.UnpicklingError, EOFError)) as caught:
        torch.load(file(data))
    assert type(caught.value) in REFUSED
