"""The general path does what the quiet one does: its entries are those of the quiet path, and what it changes in place by quiet paths it
changes as its own kernels do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ops.op_cases import bind, copied, is_array, samples, tensors
from tests.ops.test_quiet import REGULAR, plain

from autograd_tape.dtypes import bfloat16, float32
from autograd_tape.errors import AutogradError
from autograd_tape.functions.general import General
from autograd_tape.ops import RECORDS
from autograd_tape.tensor import LEAF, TensorRef
from autograd_tape.version import Version
from torchcompat import manual_seed
from torchcompat._tensor import frontend
from torchcompat.autograd import grad


def shown(saved: Any) -> Any:
    """What an entry saved, to be compared: tensors by identity, arrays by their elements, no version as one without changes."""
    if isinstance(saved, (tuple, list)):
        return [shown(x) for x in saved]
    if isinstance(saved, np.ndarray):
        return saved.dtype, saved.tobytes()
    if isinstance(saved, Version):
        return "version"
    return id(saved) if isinstance(saved, TensorRef) else saved or 0


def entry_of(result: Any) -> Any:
    """The entry that made the first output; None for what an operation gives back as it got it."""
    node = next((t._node for t in tensors(result) if t._node is not None and t._node is not LEAF), None)
    return node.entry if node is not None and node._tag == 2 else node


@pytest.mark.no_numbers("what entries hold")
@pytest.mark.parametrize("name", [n for n in REGULAR if RECORDS[n].differentiable])
def test_entries_are_those_of_the_quiet_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rec = RECORDS[name]
    monkeypatch.setattr(General, "leads_elsewhere", lambda self, args, inplace: True)  # half precision has no path of its own
    compared = 0
    for sample, floats in [(sample, floats) for sample in samples(rec)[:4] for floats in (False, True)]:
        args, kwargs = plain(rec, frontend, copied(bind(rec, sample)), True, floats)
        values = {**dict(zip([p.name for p in rec.params], args)), **kwargs}
        given = tuple([values.get(p.name, rec.defaults.get(p.name)) for p in rec.params])
        found = []
        try:
            for path in (frontend.function(name), lambda *a, **k: General(rec, frontend).run(given)):
                manual_seed(0)
                with np.errstate(all="ignore"):
                    found.append(path(*args, **kwargs))
        except (AutogradError, RuntimeError, IndexError) as error:
            assert not found, f"{name} is refused on the general path alone"
            with pytest.raises((type(error), AutogradError)):
                General(rec, frontend).run(given)
            continue
        quiet, general = map(entry_of, found)
        if quiet is None or quiet.op.name != name:
            assert (quiet is None) == (general is None), name
            continue
        assert type(quiet) is type(general), name
        assert [id(e) for e in quiet.edges] == [id(e) for e in general.edges], name
        assert shown(quiet.saved) == shown(general.saved), f"{name}: {quiet.saved} {general.saved}"
        compared += 1
    assert (compared or rec.field("itself")
            or all([np.iscomplexobj(bind(rec, s)[0][0]) for s in samples(rec)])), f"no real sample of {name} has a history"


@pytest.mark.no_numbers("the same bits")
@pytest.mark.parametrize("name", [n for n in REGULAR if RECORDS[n].inplace])
def test_changes_in_place_are_those_of_the_kernels_of_the_general_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tensors with a history, of views of such, and in half precision: the result, its version, its node, and the gradients."""
    rec = RECORDS[name]
    plain_write, quiet = General._quiet_write, []

    def quiet_write(self: General, values: Any, tensors: Any) -> Any:
        quiet.append((write := plain_write(self, values, tensors)) is not None)
        return write

    def changed(sample: Any, dtype: Any, view: bool, recording: bool) -> Any:
        args, kwargs = plain(rec, frontend, copied(bind(rec, sample)), False, True)
        if not is_array(args[0] if not isinstance(args[0], TensorRef) else args[0]._data):
            return None
        leaves: list[Any] = []

        def leaf(x: Any) -> Any:
            if not isinstance(x, TensorRef) or x._k.dtype is not float32:
                return x
            leaves.append(frontend.wrap(x._data.astype(dtype), node=LEAF if recording else None))
            return leaves[-1]

        args, kwargs = [leaf(a) for a in args], {k: leaf(a) for k, a in kwargs.items()}
        base = frontend.mul(args[0], 1) if isinstance(args[0], TensorRef) else args[0]
        target = base[...] if view else base
        manual_seed(0)
        try:
            with np.errstate(all="ignore"):
                frontend.function(name + "_")(target, *args[1:], **kwargs)
            ones = [frontend.wrap(np.ones(base.shape, base._data.dtype))]
            grads = grad([base], leaves, ones, allow_unused=True) if base.requires_grad else ()
        except (AutogradError, RuntimeError, TypeError, ValueError, IndexError) as error:
            return type(error), str(error)
        return (base._data.tobytes(), base._data.strides, base.dtype, base._version, type(target.grad_fn).__name__,
                [None if g is None else (g.dtype, g._data.tobytes()) for g in grads])

    for sample in samples(rec)[:3]:
        for dtype in (np.dtype(np.float32), bfloat16.np):
            for view, recording in ((False, True), (True, True), (False, False)):
                found = []
                for write in (quiet_write, lambda self, values, tensors: None):
                    monkeypatch.setattr(General, "_quiet_write", write)
                    found.append(changed(sample, dtype, view, recording))
                assert found[0] == found[1], f"{name}_ in {dtype}, of a view: {view}, recording: {recording}"
    assert any(quiet) or not rec.differentiable or not rec.params[0].is_tensor, name


@pytest.mark.parametrize("first", [0, -7, 2 ** 24 - 20001, 2 ** 24 - 20000, 0.5, -0.0])
@pytest.mark.parametrize("n", [4095, 4096, 20001])
def test_ranges_of_float32_have_the_numbers_of_double_precision(first: float, n: int) -> None:
    found = frontend.function("arange")(first, first + n, dtype=float32)._data
    expected = (np.arange(n) * 1.0 + first).astype(np.float32)
    assert found.shape == (n,) and (found.tobytes() == expected.tobytes() or abs(first) + n > 2 ** 24)


@pytest.mark.parametrize("n", [1, 8191, 8192, 8193, 20001])
def test_counting_in_blocks_gives_the_numbers_of_arange(n: int) -> None:
    from autograd_tape.ops.data.create import counted

    for first, factor in ((0, 1.0), (0, 0.3), (-7, 0.3), (2 ** 24 - n, 1.7)):
        expected = np.arange(first, first + n).astype(np.float32) * np.float32(factor)
        assert np.array_equal(counted(np.empty(n, np.float32), first, factor), expected)
