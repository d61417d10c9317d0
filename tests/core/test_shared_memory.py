"""Memory that processes share: share_memory_, and tensors in queues."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape import ownership
from torchcompat import multiprocessing as mp
from torchcompat import nn
from torchcompat._memory import shared

DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="descriptors of memory cannot be sent on this system")


def in_child(function: Any) -> None:
    """Runs `function` in a forked process."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (5,), (2, 3)])
def test_values_stay(dtype: Any, shape: tuple[int, ...]) -> None:
    t = torch.ones(shape, dtype=dtype)
    assert not t.is_shared()
    version = t._version
    assert t.share_memory_() is t and t.is_shared() and t.untyped_storage().is_shared() and t.storage().is_shared()
    assert t.dtype is dtype and t.shape == shape and bool((t == 1).all()) and t._version == version
    address = t.data_ptr()
    assert t.share_memory_().data_ptr() == address and not t.clone().is_shared()


def test_a_child_s_change_is_seen() -> None:
    t, kept = torch.zeros(3), torch.zeros(3)
    t.share_memory_()
    in_child(lambda: (t.add_(1), kept.add_(1)))
    assert t.tolist() == [1.0] * 3 and kept.tolist() == [0.0] * 3
    t.add_(1)
    assert t.tolist() == [2.0] * 3


def test_everything_that_looks_at_the_memory_moves() -> None:
    base = torch.arange(12.0).reshape(3, 4)
    names = {"row": base[1], "column": base[:, 2], "transposed": base.t(), "bytes": base.view(torch.uint8), "detached": base.detach(),
             "data": base.data, "alias": torch.empty(0).set_(base), "parameter": nn.Parameter(base), "scalar": base[2, 3],
             "empty": base[:0], "strided": base.as_strided((2, 2), (5, 1), 1)}
    storage, other = base.untyped_storage(), torch.arange(12.0)
    before = {name: (t.tolist(), t.stride(), t.storage_offset()) for name, t in names.items()}
    names["column"].share_memory_()
    assert base.is_shared() and storage.is_shared() and base.untyped_storage() is storage and storage.data_ptr() == base.data_ptr()
    assert not other.is_shared()
    for name, t in names.items():
        assert t.is_shared() and (t.tolist(), t.stride(), t.storage_offset()) == before[name], name
        assert not t.numel() or np.shares_memory(t._data, base._data), name
    in_child(lambda: names["row"].fill_(7.0))
    assert base[1].tolist() == names["transposed"][:, 1].tolist() == [7.0] * 4
    names["row"].fill_(8.0)
    assert base[1].tolist() == [8.0] * 4


OTHERS: dict[str, Any] = {
    "a view": lambda t: t[1:], "an empty view": lambda t: t[:0], "bytes": lambda t: t.view(torch.uint8), "detached": lambda t: t.detach(),
    "data": lambda t: t.data, "a parameter": lambda t: nn.Parameter(t), "set to it": lambda t: torch.empty(0).set_(t),
    "saved": lambda t: (nn.Parameter(torch.ones(4)) * t).grad_fn._saved_other, "from its storage": lambda t: torch.tensor(
        [], dtype=t.dtype).set_(t.untyped_storage()), "a view of a view": lambda t: t[1:].t()[:2], "an alias": lambda t: t.view_as(t),
}
MINE: dict[str, Any] = {"itself": lambda t: t, "a part": lambda t: t[:3], "detached": lambda t: t.detach(), "a parameter": nn.Parameter}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("mine", MINE)
def test_whoever_looks_moves_whichever_is_shared(mine: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One holder more than is known of is enough to look for all of them."""
    made = torch.arange(4.0)
    found = OTHERS[other](made)
    asked = MINE[mine](made)
    del made
    monkeypatch.setattr(shared, "_tensors", lambda: [asked, found])  # lest all objects of these tests be looked through
    asked.share_memory_()
    assert asked.is_shared() and found.is_shared()
    assert found.untyped_storage() is asked.untyped_storage() and found.untyped_storage().data_ptr() == asked.untyped_storage().data_ptr()


@pytest.mark.parametrize("counting", ["trusted", "not trusted", "none"])
def test_all_move_however_the_interpreter_counts(counting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if counting == "not trusted":
        monkeypatch.setattr(ownership, "counts_may_change", lambda: True)
    elif counting == "none":
        monkeypatch.setattr(ownership, "count", lambda thing: 0)
        monkeypatch.setattr(ownership, "_by_a_list", ownership._counted_in_a_list())
    assert (ownership.holders([object()]) == -1) == (counting != "trusted")
    made = torch.arange(4.0)
    found = made[1:].detach()
    monkeypatch.setattr(shared, "_tensors", lambda: [made, found])
    made.share_memory_()
    assert made.is_shared() and found.is_shared()


@pytest.mark.parametrize("make", [
    lambda: torch.ones(3), lambda: torch.ones(2, 3).t().detach(), lambda: torch.ones(3)[1:].detach(), lambda: torch.tensor(1.0),
    lambda: torch.ones(0), lambda: nn.Parameter(torch.ones(3)), lambda: torch.ones(3) + 1,
    lambda: torch.from_numpy(np.ones(3)).clone(), lambda: torch.rand(2, 2), lambda: torch.ones(4, 4)[1:, ::2].detach(),
    lambda: torch.ones(3).to(torch.bfloat16), lambda: torch.UntypedStorage(8),
    lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)),
])
def test_nobody_else_is_looked_for_where_there_is_nobody(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "_tensors", lambda: pytest.fail("all objects were looked through"))
    made = make()
    if isinstance(made, nn.Module):
        assert all(t.is_shared() for t in made.share_memory().state_dict().values())
    else:
        before = made.tolist()
        assert made.share_memory_() is made and made.is_shared() and made.tolist() == before


def test_frozen_tensors_move_too() -> None:
    base = torch.zeros(4)
    view = base[1:]
    gc.freeze()  # for good, as what was collected before the tests: see `conftest.py`
    base.share_memory_()
    view.fill_(3.0)
    assert view.is_shared() and base.tolist() == [0.0, 3.0, 3.0, 3.0]


def test_history_survives() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    y.detach().share_memory_()
    x.detach().share_memory_()
    assert x.is_shared() and y.is_shared() and x.is_leaf and x.requires_grad
    z.backward()
    assert x.grad.tolist() == [8.0] * 3
    y = (x * 1).share_memory_()
    w = (y * y).sum()
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        w.backward()


def test_modules() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    model[2].weight = nn.Parameter(model[0].weight.data.t())  # over the same memory
    model(torch.ones(2, 3)).sum().backward()
    parameters, values = dict(model.named_parameters()), {n: t.tolist() for n, t in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    assert model.share_memory() is model
    assert dict(model.named_parameters()) == parameters and {n: t.tolist() for n, t in model.state_dict().items()} == values
    assert all(t.is_shared() for t in model.state_dict().values()) and all(p.grad.is_shared() for p in parameters.values())
    assert np.shares_memory(model[0].weight._data, model[2].weight._data)
    in_child(optimizer.step)
    assert model[2].bias.tolist() != values["2.bias"]
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter"):
        nn.LazyLinear(2).share_memory()


def test_storages() -> None:
    assert torch.UntypedStorage._new_shared(8).is_shared() and torch.UntypedStorage._new_shared(8).tolist() == [0] * 8
    storage = torch.UntypedStorage(4)
    storage[1] = 5
    assert storage.share_memory_() is storage and storage.is_shared() and storage.tolist() == [0, 5, 0, 0]
    assert not storage.clone().is_shared()


def test_descriptors_and_memory_are_given_back() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list descriptors")
    gc.collect()
    before = descriptors()
    for _ in range(5):
        torch.ones(100).share_memory_()
    gc.collect()
    assert descriptors() == before


# -- between processes --------------------------------------------------------------------------------------------------------------


def answer(tasks: Any, results: Any) -> None:
    """Changes each tensor that comes, and sends back what it was."""
    for given in iter(tasks.get, None):
        tensors = given if isinstance(given, list) else [given]
        seen = [(t.tolist(), t.stride(), t.requires_grad, type(t).__name__, t.is_shared()) for t in tensors]
        with torch.no_grad():
            tensors[0].add_(1)
        results.put((seen, tensors))
    while tasks.empty():  # what was sent is fetched from here
        time.sleep(0.01)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_tensors_in_queues(method: str) -> None:
    context = mp.get_context(method)
    tasks, results = context.Queue(), context.Queue()
    inherited = torch.zeros(2).share_memory_()
    process = context.Process(target=answer, args=(tasks, results), daemon=True)
    process.start()
    base = torch.arange(6.0).reshape(2, 3)
    leaf, row = nn.Parameter(torch.ones(2)), base[1]
    tasks.put([base.t(), row, leaf, torch.tensor(4), torch.zeros(0, 2)])
    seen, back = results.get(timeout=60)
    assert [s[1:] for s in seen] == [((1, 3), False, "Tensor", True), ((1,), False, "Tensor", True), ((1,), True, "Parameter", True),
                                     ((), False, "Tensor", True), ((2, 1), False, "Tensor", True)]
    assert seen[0][0] == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] and seen[1][0] == [3.0, 4.0, 5.0]
    assert base.is_shared() and base.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] and row.tolist() == [4.0, 5.0, 6.0]
    assert back[1].tolist() == [4.0, 5.0, 6.0] and np.shares_memory(back[0]._data, back[1]._data)
    back[1].zero_()
    assert row.tolist() == [0.0] * 3, "both ways"
    tasks.put(inherited)
    results.get(timeout=60)
    assert inherited.tolist() == [1.0, 1.0]
    tasks.put(None)
    tasks.put(None)
    process.join(60)
    assert process.exitcode == 0


def test_a_graph_stays_in_its_process() -> None:
    from multiprocessing.reduction import ForkingPickler

    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        ForkingPickler.dumps(torch.ones(2, requires_grad=True) * 2)


def add(i: int, t: torch.Tensor) -> None:
    t[i] += i + 1


def fail(i: int) -> None:
    if i == 1:
        raise ValueError("what went wrong")


def leave(i: int) -> None:
    os._exit(3)


def test_start_processes() -> None:
    t = torch.zeros(3).share_memory_()
    assert mp.start_processes(add, (t,), nprocs=3, start_method="fork") is None
    assert t.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(mp.ProcessRaisedException, match="(?s)Process 1 terminated with the following error.*ValueError: what went wrong"):
        mp.start_processes(fail, nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3") as caught:
        mp.start_processes(leave, start_method="fork")
    assert caught.value.exit_code == 3 and caught.value.error_index == 0


def test_spawn() -> None:
    t = torch.zeros(1)
    mp.spawn(add, (t,))
    assert t.tolist() == [1.0] and t.is_shared()


def test_names() -> None:
    import multiprocessing

    assert set(multiprocessing.__all__) <= set(dir(mp)) and torch.multiprocessing is mp
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("none")
