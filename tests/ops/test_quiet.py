"""Every generated function takes its quiet path: what stumbles there goes on to the general path, which gives the same result, only slower,
so that no other test would notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.ops.op_cases import NAMES, bind, copied, is_array, samples, tensors, tree_map

from autograd_tape import F
from autograd_tape.errors import AutogradError
from autograd_tape.frontend import Frontend
from autograd_tape.ops import RECORDS, Record
from autograd_tape.executors.kernels import halves
from autograd_tape.executors.kernels._on_demand import state
from autograd_tape.executors.numpy import half_kernel as _half_kernel, of_one as _of_one
from autograd_tape.functions.common import _kinds_of
from autograd_tape.functions.compile import compile_function, forward_source, inplace_source
from autograd_tape.functions.general import General, half_operand, takes_complex, takes_integers
from autograd_tape.tensor import LEAF
from autograd_tape.tree import tree_map as map_leaves
from autograd_tape.dtypes import bfloat16, float16, float32
from torchcompat import Tensor, manual_seed, ones_like
from torchcompat._tensor import frontend as torch_frontend
from torchcompat.autograd import grad

REGULAR = [n for n in NAMES if RECORDS[n].field("numpy") is not None and RECORDS[n].tensor_params and RECORDS[n].field("function") is None
           and RECORDS[n].field("make") is None]
LOUD = {"cast_like": ({0}, "is about two dtypes"),
        "unique_index": ({0}, "has no tensor but an index, which decides no kind"),
        "clamp_tensor": ({1, 2}, "lacks a bound"),
        "pow": ({8}, "has a number first")}
"""Which samples of an operation do not take the quiet path, and why."""
LOUD_IN_PLACE = {"addmm": ({2}, "scales by beta and alpha before the kernel"), "clamp_tensor": LOUD["clamp_tensor"],
                 "rrelu_with_noise": ({1}, "takes a tensor that may be left out")}
LOUD_IN_HALF = {"cast_like"}
LOUD_FOR_INTEGERS = {"bce_with_logits"}
HALVES = float16.np, bfloat16.np


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations that took the general path."""
    names: list[str] = []
    carry_out = General.carry_out

    def carried_out(self: General, *args: Any, **kwargs: Any) -> Any:
        names.append(self.rec.name)
        return carry_out(self, *args, **kwargs)

    monkeypatch.setattr(General, "carry_out", carried_out)
    return names


def plain(rec: Record, frontend: Frontend, value: Any, recording: bool, floats: bool) -> Any:
    """A sample's arguments as plain tensors, in rows; with `floats` all in float32, but indices and masks."""
    integers = {np.dtype(np.int64), np.dtype(np.int32)}
    index = {np.dtype(np.bool_)} | (integers if any(p.type.startswith("Index") for p in rec.params) else set())

    def tensor(x: Any, records: bool) -> Any:
        a = np.array(x, order="C")
        if floats and a.dtype not in index:
            a = a.astype(np.float32)
        return frontend.wrap(a, node=LEAF if records and a.dtype.kind == "f" else None)

    args, kwargs = value
    refused = rec.field("refuses_grad") or ()
    by_name = {p.name: recording and p.name not in refused for p in rec.params}
    return ([tree_map(lambda x, records=records: tensor(x, records), a) for a, records in zip(args, by_name.values())],
            {k: tree_map(lambda x, records=by_name[k]: tensor(x, records), a) for k, a in kwargs.items()})


@pytest.mark.no_numbers("which path is taken")
@pytest.mark.parametrize("name", [n for n in REGULAR if RECORDS[n].quiet != "none" and "    try:" in forward_source(RECORDS[n])])
def test_plain_samples_take_the_quiet_path(name: str, entered: list[str]) -> None:
    rec = RECORDS[name]
    for frontend in (F, torch_frontend):
        for recording in (False, True):
            loud = set()
            for nr, sample in enumerate(samples(rec)):
                for floats in (False, True):
                    args, kwargs = plain(rec, frontend, copied(bind(rec, sample)), recording, floats)
                    entered.clear()
                    with np.errstate(all="ignore"):
                        frontend.function(name)(*args, **kwargs)
                    if name not in entered:
                        break
                else:
                    loud.add(nr)
            assert loud == LOUD.get(name, (set(), ""))[0], f"{name} on {frontend.name}, recording: {recording}"


@pytest.mark.no_numbers("which path is taken")
@pytest.mark.parametrize("name", [n for n in REGULAR if RECORDS[n].inplace and "    try:" in inplace_source(RECORDS[n])])
def test_plain_samples_take_the_quiet_path_in_place(name: str, entered: list[str], excused: Callable[[str], None]) -> None:
    rec, quiet = RECORDS[name], 0
    for frontend in (F, torch_frontend):
        loud = set()
        for nr, sample in enumerate(samples(rec)):
            args, kwargs = bind(rec, sample)
            if not is_array(args[0]):
                args[:2] = args[1], args[0]
            shapes = [np.shape(x) for x in args if is_array(x)]
            if rec.broadcasts and np.broadcast_shapes(*shapes) != np.shape(args[0]) or not np.ndim(args[0]):
                continue  # it does not fit, or the kernel gives a number that is no array to copy
            for floats in (False, True):
                target, values = plain(rec, frontend, copied((args, kwargs)), False, floats)
                entered.clear()
                try:
                    with np.errstate(all="ignore"):
                        frontend.function(name + "_")(*target, **values)
                except (AutogradError, RuntimeError) as error:
                    assert "can't be cast" in str(error) or "doesn't match the broadcast shape" in str(error), f"{name}_: {error}"
                    excused("the result does not fit")
                    continue
                if name not in entered:
                    quiet += 1
                    loud.discard(nr)
                    break
                loud.add(nr)
        assert loud <= LOUD_IN_PLACE.get(name, (set(), ""))[0], f"{name}_ on {frontend.name}"
    assert quiet or name in LOUD_IN_PLACE, f"no sample of {name} fits its in-place variant"


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "atan2", "hypot", "fmod", "remainder", "copysign", "lerp", "eq"])
def test_a_tensor_that_was_changed_changes_itself_on_the_quiet_path(name: str, entered: list[str]) -> None:
    x = torch_frontend.wrap(np.arange(1, 7, dtype=np.float32))
    others = (x,) * (2 if name == "lerp" else 1)
    expected = torch_frontend.function(name)(x, *others)
    x.mul_(1)
    entered.clear()
    assert torch_frontend.function(name + "_")(x, *others) is x
    assert entered == []
    np.testing.assert_array_equal(x._data, expected._data.astype(np.float32))
    assert x._version == 2


def test_half_precision_has_one_kernel() -> None:
    """What takes half precision itself is never asked for another, `half`."""
    assert not [name for name, rec in RECORDS.items() if getattr(rec.field("numpy"), "takes_half", False) and rec.field("half") is not None]


@pytest.mark.no_numbers("the same bits")
@pytest.mark.parametrize("name", [n for n in REGULAR if half_operand(RECORDS[n]) is not None])
def test_the_quiet_path_of_half_precision_does_what_the_general_one_does(name: str) -> None:
    rec = RECORDS[name]
    door = General(rec, torch_frontend)
    ended = [0]
    taken: list[Any] = []  # tensors in half precision that there is a kernel for
    whole = door.whole

    def carried(path: Callable[..., Any], sample: Any, dtype: Any) -> Any:
        """The results and gradients in `dtype` as bytes, or the error."""
        args, kwargs = plain(rec, torch_frontend, tree_map(lambda x: np.asarray(x), copied(bind(rec, sample))), False, True)
        values = {**dict(zip([p.name for p in rec.params], args)), **kwargs}
        refused = rec.field("refuses_grad") or ()

        def half(x: Any, records: bool) -> Any:
            if not isinstance(x, Tensor) or x.dtype is not float32:
                return x
            x = torch_frontend.wrap(x._data.astype(dtype), node=LEAF if records else None)
            leaves.append(x)
            return x

        leaves: list[Any] = []
        given = tuple([map_leaves(lambda x, records=p.name not in refused: half(x, records), values.get(p.name, rec.defaults.get(p.name)))
                       for p in rec.params])
        manual_seed(0)
        try:
            with np.errstate(all="ignore"):
                found = tensors(path(given))
                wanted = [t for t in leaves if t.requires_grad]
                made = [t for t in found if t.requires_grad]
                grads = grad(made, wanted, [torch_frontend.wrap(np.ones(t.shape, t._data.dtype)) for t in made],
                             allow_unused=True) if made and wanted else ()
        except (AutogradError, RuntimeError) as error:
            return type(error), str(error)
        taken.extend(leaves)
        return [None if t is None else (t.dtype, t.shape, t.stride(), t._data.tobytes()) for t in (*found, *grads)]

    def counted(*args: Any) -> Any:
        ended[0] += 1
        return whole(*args)

    expected = [carried(whole, sample, d) for sample in samples(rec) for d in HALVES]
    door.whole = counted  # type: ignore[method-assign]  # a door of the test's own
    torch_frontend.entrances.pop((name, "half"), None)
    found = [carried(door.rest, sample, d) for sample in samples(rec) for d in HALVES]
    torch_frontend.entrances.pop((name, "half"), None)
    assert found == expected
    assert ended[0] < len(found) or not taken or name in LOUD_IN_HALF, f"no sample of {name} is quiet in half precision"


@pytest.mark.no_numbers("the same bits")
@pytest.mark.parametrize("name", [n for n in REGULAR if takes_integers(RECORDS[n])])
def test_the_entrance_for_integers_does_what_the_general_path_does(name: str) -> None:
    rec = RECORDS[name]
    door = General(rec, torch_frontend)
    entrance = door.open_integers()
    quiet = 0

    def carried(path: Callable[..., Any], values: list[Any]) -> Any:
        try:
            with np.errstate(all="ignore"):
                found = path(values)
        except (AutogradError, RuntimeError, NotImplementedError, TypeError):  # the words are of the function that was called
            return "refused"
        return found.dtype, found.shape, found.stride(), found._data.tobytes()

    def ended(*args: Any) -> Any:
        raise LookupError

    silent = compile_function(rec, torch_frontend, integers=True, below=ended)
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        by_name = {**dict(zip([p.name for p in rec.params], args)), **kwargs}
        values = [by_name.get(p.name, rec.defaults.get(p.name)) for p in rec.params]
        for dtype in (np.int64, np.int32, np.uint8, np.int8, np.bool_):
            for scale in (1, 3):
                def tensor(x: Any) -> Any:
                    a = (np.asarray(x, np.float64) * scale).astype(dtype)
                    return torch_frontend.wrap(a if scale == 1 or a.ndim < 2 else np.asfortranarray(a))

                given = [tensor(v) if is_array(v) else v for v in values]
                if not isinstance(given[0], Tensor):
                    continue
                for more in (given, [int(v) if v.__class__ is float else v for v in given]):
                    assert carried(lambda v: entrance(*v), more) == carried(lambda v: door(tuple(v)), more), (dtype, more)
                    quiet += taken(silent, more)
    assert quiet or rec.field("check") is not None or rec.lacks or name in LOUD_FOR_INTEGERS, f"no sample of {name} is quiet for integers"


@pytest.mark.no_numbers("the same bits")
@pytest.mark.parametrize("recording", [False, True])
@pytest.mark.parametrize("name", [n for n in REGULAR if takes_complex(RECORDS[n]) and not RECORDS[n].field("random")])
def test_the_entrance_for_complex_numbers_does_what_the_general_path_does(name: str, recording: bool) -> None:
    rec = RECORDS[name]
    door = General(rec, torch_frontend)
    entrance = door.open_complexes()
    rng = np.random.default_rng(0)

    def carried(path: Callable[..., Any], values: list[Any]) -> Any:
        leaves = [v for v in values if isinstance(v, Tensor) and v.requires_grad]
        try:
            with np.errstate(all="ignore"):
                found = path(values)
                slopes = grad(found, leaves, ones_like(found), allow_unused=True) if found.requires_grad else ()
        except (AutogradError, RuntimeError, NotImplementedError, TypeError):  # the words are of the function that was called
            return "refused"
        # + 0: zeros of conjugates that were made and left have signs of their own
        return [None if x is None else (x.dtype, x.shape, x.stride(), (x._data + 0).tobytes(), type(x.grad_fn).__name__)
                for x in (found, *slopes)]

    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        by_name = {**dict(zip([p.name for p in rec.params], args)), **kwargs}
        values = [by_name.get(p.name, rec.defaults.get(p.name)) for p in rec.params]
        for dtype in (np.complex64, np.complex128):
            for turned in (False, True):
                def tensor(x: Any) -> Any:
                    a = np.asarray(x + 1j * rng.standard_normal(np.shape(x)), dtype)
                    return torch_frontend.wrap(np.asfortranarray(a) if turned else a, node=LEAF if recording else None)

                given = [tensor(v) if is_array(v) and np.asarray(v).dtype.kind == "f" else torch_frontend.wrap(v) if is_array(v) else v
                         for v in values]
                for more in (given, [v * 1j if v.__class__ is float else v for v in given]):
                    if isinstance(given[0], Tensor):
                        assert carried(lambda v: entrance(*v), more) == carried(lambda v: door(tuple(v)), more), (dtype, more)


@pytest.mark.no_numbers("the same bits")
@pytest.mark.parametrize("name", [n for n in REGULAR if RECORDS[n].inplace and "door.half" in inplace_source(RECORDS[n])])
def test_entrances_in_place_do_what_the_general_path_does(name: str) -> None:
    rec = RECORDS[name]
    door, function = General(rec, torch_frontend, True), torch_frontend.function(name + "_")

    def carried(path: Callable[..., Any], values: list[Any], dtype: Any) -> Any:
        def tensor(x: Any) -> Any:
            a = np.asarray(x)
            return torch_frontend.wrap(np.array(a if a.dtype.kind in "ib" else a * (1 if dtype in HALVES else 3), dtype
                                                if a.dtype.kind in "fc" else a.dtype, order="F"))

        manual_seed(0)
        given = tree_map(tensor, values)
        try:
            with np.errstate(all="ignore"):
                found = path(given)
        except (AutogradError, RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
            return "refused"
        assert found is given[0]
        return found.dtype, found.shape, found.stride(), found._data.tobytes(), found._version

    done = []
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        by_name = {**dict(zip([p.name for p in rec.params], args)), **kwargs}
        values = [by_name.get(p.name, rec.defaults.get(p.name)) for p in rec.params]
        alphas = [[0.3 if p.scales else v for p, v in zip(rec.params, values)]] * any([p.scales for p in rec.params])
        for more in [values, [int(v) if v.__class__ is float else v for v in values], *alphas] * is_array(values[0]):
            for dtype in (*HALVES, np.int64, np.uint8, np.bool_):
                found = carried(lambda v: function(**dict(zip([p.name for p in rec.params], v))), more, dtype)
                assert found == carried(lambda v: door.whole(tuple(v), None, True), more, dtype), (dtype, more)
                done.append(found)
    assert done


def taken(path: Callable[..., Any], values: list[Any]) -> bool:
    """Whether a path that raises LookupError at its end is quiet for these arguments."""
    try:
        with np.errstate(all="ignore"):
            path(*values)
    except LookupError:
        return False
    return True


@pytest.mark.no_numbers("the same bits")
@pytest.mark.parametrize("name", [n for n in REGULAR if half_operand(RECORDS[n]) is not None and _of_one(RECORDS[n])])
def test_tables_of_half_precision_hold_what_the_kernel_gives(name: str) -> None:
    rec = RECORDS[name]
    rng = np.random.default_rng(0)
    for half in HALVES:
        kernel = _half_kernel(rec, torch_frontend.numpy_kernel(rec))
        every = np.arange(1 << 16, dtype=np.uint16)
        with np.errstate(all="ignore"):
            for sample in samples(rec):
                args, kwargs = bind(rec, sample)
                how = [{**dict(zip([p.name for p in rec.params], args)), **kwargs}.get(p.name, rec.defaults.get(p.name))
                       for p in rec.params if p.passed][1:]
                getattr(kernel, "found", {}).clear()
                getattr(kernel, "ready", {}).clear()
                for size in (3, 600, 9000):
                    for _ in range(70):
                        kernel(np.ones(size, half), *how)
                found = [kernel.found.get((np.dtype(half).char, 256, state.fused, *how), 0)]
                if found[0].__class__ is int:  # what is computed number by number, by machine code, and zeros among what says how
                    assert kernel.formula is not None or kernel.by is not None or 0 in how, how
                    continue
                for size in (1, 7, 100, 256, 257, 512, 600, 1023, 8192, 9001):
                    part = rng.choice(every, size).view(half)
                    a, b = kernel(part, *how), kernel.function(part, *how)
                    known = ~np.isnan(b)  # the signs of what is no number may depend on places
                    assert a.dtype == b.dtype and np.array_equal(np.isnan(a), ~known) and a[known].tobytes() == b[known].tobytes()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("function", [np.exp, np.log10, np.sin, np.expm1], ids=lambda f: f.__name__)
def test_tables_of_ufuncs_hold_what_they_give(function: np.ufunc, half: Any) -> None:
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for size in (512, 1024, 4095):
            for _ in range(70):
                halves.ufunc(function, np.ones(size, half))
            assert halves.TABLES[function].found[np.dtype(half).char, 1 << size.bit_length() - 1, state.fused].__class__ is np.ndarray
            part = rng.choice(np.arange(1 << 16, dtype=np.uint16), size).view(half)
            assert halves.ufunc(function, part).tobytes() == halves._ufunc(function, part).tobytes()


def test_the_general_path_is_noticed(entered: list[str]) -> None:
    _kinds_of(RECORDS["add"]).clear()  # which finds what operands have in common, the first time
    numbers, wider = F.wrap(np.ones(2, np.complex64)), F.wrap(np.ones(2))
    assert tensors(F.add(numbers, wider)) and entered == ["add"]


def test_most_operations_have_a_quiet_path() -> None:
    without = [n for n in REGULAR if "    try:" not in forward_source(RECORDS[n])]
    assert all(RECORDS[n].returns_list for n in without), without
