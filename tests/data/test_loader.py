"""What loaders give pass after pass, with what their samplers and workers draw, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchcompat as torch
import torchcompat.utils.data as _data
from torchcompat._memory import shared

from . import future_cases, pipe_cases, worker_cases
from .loader_cases import TABLE

data: Any = _data  # its names of pipes come when they are asked for


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize("case", worker_cases.TABLE.recorded)
def test_workers_as_torch(case: str) -> None:
    worker_cases.TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize("case", future_cases.TABLE.recorded)
def test_futures_as_torch(case: str) -> None:
    future_cases.TABLE.assert_as_torch(torch, case)


def test_persistent_workers_stay_and_go_on() -> None:
    class Pids(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> int:
            import os

            return os.getpid()

    loader: Any = torch.utils.data.DataLoader(Pids(), num_workers=2, persistent_workers=True)
    first, second = ({int(b) for b in loader} for _ in range(2))
    assert first == second and len(first) == 2
    assert iter(loader) is iter(loader)
    processes = loader._iterator._workers
    loader._iterator._shutdown_workers()
    assert all(not p.is_alive() for p in processes)


@pytest.mark.parametrize("case", pipe_cases.TABLE.recorded)
def test_pipes_as_torch(case: str) -> None:
    pipe_cases.TABLE.assert_as_torch(torch, case)


def test_elements_are_of_the_type_that_a_pipe_says() -> None:
    class Numbers(data.IterDataPipe[tuple[int, str]]):
        def __init__(self, elements: Any) -> None:
            self.elements = elements

        @data.runtime_validation
        def __iter__(self) -> Any:
            yield from self.elements

    @data.argument_validation
    def count(pipe: data.IterDataPipe[tuple[int, str]]) -> int:
        return len(list(pipe))

    assert count(Numbers([(1, "a")])) == 1
    with pytest.raises(RuntimeError, match="Expected an instance as subtype of"):
        list(Numbers([(1, 2)]))
    with data.runtime_validation_disabled():
        assert list(Numbers([(1, 2)])) == [(1, 2)]
    with pytest.raises(TypeError, match="Expected argument 'pipe' as a IterDataPipe, but found <class 'list'>"):
        count([(1, "a")])
    with pytest.raises(TypeError, match="Expected type of argument 'pipe' as a subtype of hint"):
        count(data.datapipes.iter.IterableWrapper([1]))
    with data.guaranteed_datapipes_determinism(), pytest.raises(TypeError, match="is non-deterministic, but you set"):
        data.non_deterministic(Numbers)([1])


class Rows(torch.utils.data.Dataset):
    """Large samples, whose batches come in memory of their own, and small ones beside them."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> Any:
        return torch.full((3, 300, 200), float(i)), np.full(200000, i), torch.full((2,), i)


def _sent() -> list[str]:
    """The names in the folder of files in memory that are ours."""
    import os

    return [name for name in os.listdir("/dev/shm") if name.startswith("torch_")] if os.path.isdir("/dev/shm") else []


@pytest.mark.parametrize("persistent", [False, True])
def test_large_batches_come_in_memory_that_is_shared(persistent: bool) -> None:
    before = _sent()
    loader: Any = torch.utils.data.DataLoader(Rows(), batch_size=3, num_workers=2, persistent_workers=persistent)
    for i, batch in enumerate(loader):
        assert batch[0].is_shared() and batch[1].is_shared() and not batch[2].is_shared()
        numbers = [3 * i, 3 * i + 1, 3 * i + 2]
        assert batch[0].shape == (3, 3, 300, 200) and batch[0][:, 0, 0, 0].tolist() == batch[1][:, -1].tolist() == numbers
        batch[0].add_(1)
    del loader
    assert set(_sent()) <= set(before)


def test_names_nobody_opened_go_with_their_process() -> None:
    before = set(_sent())
    batches: Any = iter(torch.utils.data.DataLoader(Rows(), num_workers=2, collate_fn=lambda samples: samples[0][0]))
    assert next(batches).is_shared()
    del batches
    assert set(_sent()) <= before


def test_more_workers_than_processors_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.utils.data.dataloader, "cpu_count", lambda: 1)
    with pytest.warns(UserWarning, match="create 2 worker processes in total. Our suggested max number of worker in current system is 1,"):
        torch.utils.data.DataLoader([1], num_workers=2)


@pytest.mark.parametrize("strategy", sorted(torch.multiprocessing.get_all_sharing_strategies()))
def test_what_comes_back_is_what_was_sent(strategy: str) -> None:
    before, known = torch.multiprocessing.get_sharing_strategy(), set(_sent())
    torch.multiprocessing.set_sharing_strategy(strategy)
    try:
        assert torch.multiprocessing.get_sharing_strategy() == strategy
        sent, tasks = torch.arange(6.0), torch.multiprocessing.Queue()
        tasks.put([sent.untyped_storage(), sent, sent[2:], sent.reshape(2, 3)[:, 1]])
        storage, whole, part, column = tasks.get(timeout=10)
        assert storage is sent.untyped_storage() is whole.untyped_storage() is part.untyped_storage()
        column.fill_(7.0)
        assert sent.tolist() == whole.tolist() == [0.0, 7.0, 2.0, 3.0, 7.0, 5.0] and part.tolist() == whole.tolist()[2:]
        assert set(_sent()) <= known
    finally:
        torch.multiprocessing.set_sharing_strategy(before)
    with pytest.raises(AssertionError, match="invalid sharing strategy 'none', expected one of"):
        torch.multiprocessing.set_sharing_strategy("none")
    assert shared.by_name == (before == "file_system")
