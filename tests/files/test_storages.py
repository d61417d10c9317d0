"""Storages, against what torch 2.13 itself does with them."""

from __future__ import annotations

import copy
import pickle

import pytest

import torchcompat as torch
from tests.files.storage_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize("name", sorted([cls.__name__ for cls in torch._storage_classes]))
def test_every_class_copies_and_pickles(name: str) -> None:
    cls = getattr(torch, name)
    storage = cls([1, 2, 3])
    for other in (copy.copy(storage), copy.deepcopy(storage), storage.clone()):
        assert other.tolist() == storage.tolist() and other.data_ptr() != storage.data_ptr()
    if name != "UntypedStorage":
        again = pickle.loads(pickle.dumps(storage))
        assert again.tolist() == storage.tolist() and again.dtype is storage.dtype


def test_growing_takes_every_tensor_along() -> None:
    x = torch.arange(6.0)
    part, storage = x[2:5], x.untyped_storage()
    storage.resize_(100)
    assert storage.nbytes() == 100 and x.untyped_storage() is storage and part.untyped_storage() is storage
    x[3] = 9.0
    assert part.tolist() == [2.0, 9.0, 4.0] and storage.data_ptr() == x.data_ptr() == part.data_ptr() - 8
    storage.resize_(0)
    storage.resize_(24)
    assert x.tolist() == [0.0, 1.0, 2.0, 9.0, 4.0, 5.0]
