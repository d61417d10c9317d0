"""Datasets, samplers and loaders: orders are those that real torch takes from the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchcompat as torch
import torchcompat.utils.data as data

from .order_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_order(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


class Squares(data.Dataset):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, i: int) -> Any:
        if i == 99:
            raise ValueError("no such sample")
        return {"x": torch.tensor([float(i)]), "y": i * i, "name": str(i)}


class Counting(data.IterableDataset):
    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Any:
        info = data.get_worker_info()
        return iter(range(self.n) if info is None else range(info.id, self.n, info.num_workers))


def test_collate() -> None:
    batch = next(iter(data.DataLoader(Squares(), batch_size=3)))
    assert batch["x"].shape == (3, 1) and batch["y"].tolist() == [0, 1, 4] and batch["name"] == ["0", "1", "2"]
    assert batch["y"].dtype is torch.int64
    mixed = data.default_collate([(1, 2.0, np.float32(3), np.ones(2), (True, "a"))] * 2)
    assert [getattr(m, "dtype", None) for m in mixed[:4]] == [torch.int64, torch.float64, torch.float32, torch.float64]
    assert mixed[4][1] == ("a", "a")
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class"):
        data.default_collate([object()])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        data.default_collate([[1], [1, 2]])


def test_datasets() -> None:
    tensors = data.TensorDataset(torch.arange(4), torch.arange(4.0))
    both = tensors + data.Subset(tensors, [3, 1])
    assert len(both) == 6 and both[4][0].item() == 3 and both[-1][1].item() == 1.0
    stacked = data.StackDataset(a=range(3), b="xyz")
    assert stacked[1] == {"a": 1, "b": "y"} and stacked.__getitems__([0, 2]) == [{"a": 0, "b": "x"}, {"a": 2, "b": "z"}]
    assert list(Counting(2) + Counting(3)) == [0, 1, 0, 1, 2]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal the length of the input dataset!"):
        data.random_split(range(5), [1, 1])
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(torch.ones(1), torch.ones(2))


def test_iterable_dataset() -> None:
    assert [b.tolist() for b in data.DataLoader(Counting(5), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in data.DataLoader(Counting(5), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="expected unspecified shuffle option, but got shuffle=True"):
        data.DataLoader(Counting(5), shuffle=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_give_the_same_batches(workers: int) -> None:
    torch.manual_seed(0)
    expected = [b["y"].tolist() for b in data.DataLoader(Squares(), batch_size=3, shuffle=True)]
    torch.manual_seed(0)
    assert [b["y"].tolist() for b in data.DataLoader(Squares(), batch_size=3, shuffle=True, num_workers=workers)] == expected


def test_workers_share_an_iterable_dataset() -> None:
    batches = [b.tolist() for b in data.DataLoader(Counting(7), batch_size=2, num_workers=2)]
    assert batches == [[0, 2], [1, 3], [4, 6], [5]]
    unordered = [b.tolist() for b in data.DataLoader(Counting(7), batch_size=2, num_workers=2, in_order=False)]
    assert sorted(unordered) == sorted(batches)


def test_worker_errors_reach_the_caller() -> None:
    loader = data.DataLoader(Squares(), sampler=[1, 99], num_workers=1)
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0.\nOriginal Traceback") as caught:
        list(loader)
    assert "no such sample" in str(caught.value)


def test_leaving_a_loop_ends_the_workers() -> None:
    import gc
    import multiprocessing

    gc.collect()  # errors of tests before this one keep iterators, with their workers, in circles
    for _ in data.DataLoader(Squares(), num_workers=2):
        break
    assert not multiprocessing.active_children()


def test_errors_of_the_loader() -> None:
    for text, options in [
        ("sampler option is mutually exclusive with shuffle", {"sampler": [0], "shuffle": True}),
        ("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
         {"batch_sampler": [[0]], "batch_size": 2}),
        ("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.", {"num_workers": -1}),
        ("batch_size should be a positive integer value, but got batch_size=0", {"batch_size": 0}),
    ]:
        with pytest.raises(ValueError, match=text):
            data.DataLoader(Squares(), **options)
    loader = data.DataLoader(Squares())
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    assert len(loader) == 10 and len(data.DataLoader(Squares(), batch_size=3, drop_last=True)) == 3
