"""The values of an example inside vmap are read by nobody: irregular operations that read values are told from those made of others by
their records, and what an example has in the place of an array gives its geometry alone."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tests.ops import op_cases
import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS
from torchcompat._tensor import frontend
from torchcompat.func import _batching, vmap
from torchcompat.func._batched import NO_STORAGE
from torchcompat.utils._pytree import tree_flatten, tree_unflatten

IRREGULAR = sorted(n for n, r in RECORDS.items()
                   if (r.field("function") or r.field("make")) and r.field("samples") and not r.field("no_vmap"))
DECLARED = [n for n in IRREGULAR if RECORDS[n].field("reads") or RECORDS[n].field("batch")]
GEOMETRY = set("shape strides dtype flags ndim size itemsize nbytes".split())
SINGLE = {"getitem", "setitem"}
"""They read single booleans, which no sample has."""


def calls(name: str, real: Any = None) -> Iterator[Callable[[], Any]]:
    """Per sample, calls of an operation with examples in the place of one of its tensors, or of all; floating-point ones as `real`."""
    def tensor(x: Any) -> torch.Tensor:
        made = torch.from_numpy(np.array(x))
        return made if real is None or not made.is_floating_point() else made.to(real)

    for sample in op_cases.samples(RECORDS[name]):
        leaves, spec = tree_flatten(op_cases.bind(RECORDS[name], sample))
        places = [i for i, x in enumerate(leaves) if op_cases.is_array(x)]
        for chosen in [*[[i] for i in places], places] if len(places) > 1 else [places] * bool(places):
            def function(*tensors: Any, leaves: Any = leaves, spec: Any = spec, chosen: list[int] = chosen) -> Any:
                given = [tensor(x) if op_cases.is_array(x) else x for x in leaves]
                for i, t in zip(chosen, tensors):
                    given[i] = t
                args, kwargs = tree_unflatten(given, spec)
                return frontend.function(name)(*args, **kwargs)

            batch = [tensor(np.stack([np.array(leaves[i])] * 2)) for i in chosen]
            yield lambda function=function, batch=batch: vmap(function, randomness="different")(*batch)


def reads_an_example(call: Callable[[], Any]) -> bool:
    try:
        call()
    except (RuntimeError, TypeError, ValueError, IndexError) as error:  # others are not of interest: results are compared elsewhere
        return NO_STORAGE in str(error)
    return False


@pytest.mark.parametrize("share", range(4))
@pytest.mark.filterwarnings("ignore")
def test_no_irregular_operation_reads_an_example(share: int) -> None:
    assert len(IRREGULAR) > 150
    assert [n for n in IRREGULAR[share::4] if any([reads_an_example(call) for call in calls(n)])] == []


@pytest.mark.filterwarnings("ignore")
def test_what_says_that_it_reads_values_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_batching, "run_irregular", lambda level, call: NotImplemented)
    unread = {n for n in DECLARED if not any([reads_an_example(call) for call in calls(n)])}
    assert {n for n in unread if not any([reads_an_example(call) for call in calls(n, torch.float16)])} == SINGLE  # some only of halves
    assert len(DECLARED) > 20


def test_masks_of_no_dimension_decide_on_the_shape() -> None:
    """They are the only indices whose values are read."""
    for index in (lambda m: m, lambda m: (None, m), lambda m: m.to(torch.uint8)):
        with pytest.raises(RuntimeError, match="vmap: We do not support batching operators that can output dynamic shape"):
            vmap(lambda m, index=index: torch.ones(3)[index(m)])(torch.tensor([True, False]))


def test_an_outline_is_no_array() -> None:
    def look(x: torch.Tensor) -> torch.Tensor:
        data, plain = x._data, np.ones(tuple(x.shape), np.float32)
        for name in dir(np.ndarray):
            if name in GEOMETRY:
                assert isinstance(getattr(data, name), type(getattr(plain, name)))
            elif not name.startswith("__") or name.startswith("__array"):
                with pytest.raises(RuntimeError, match=NO_STORAGE):
                    getattr(data, name)
        for read in (bool, np.asarray, np.array, np.sum, lambda a: a == 1, lambda a: a != 1, lambda a: a > 0, lambda a: a <= a):
            with pytest.raises(RuntimeError, match=NO_STORAGE):
                read(data)
        for read in (len, list, int, float, operator.index, lambda a: a[0], lambda a: a + 1, lambda a: 1 in a):
            with pytest.raises((TypeError, RuntimeError)):
                read(data)
        return x

    assert vmap(look)(torch.arange(6.).reshape(3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_the_geometry_of_an_example_is_that_of_its_place() -> None:
    whole = torch.arange(24.).reshape(2, 3, 4)[:, 1:]
    for dim in range(3):
        seen = []
        vmap(lambda x: seen.append((tuple(x.shape), x.stride(), x.storage_offset(), x.nbytes)) or x, in_dims=dim)(whole)  # noqa: B023
        one = whole.select(dim, 0)
        assert seen == [(tuple(one.shape), one.stride(), one.storage_offset(), one.nbytes)]


def test_examples_have_no_storage() -> None:
    def look(x: torch.Tensor) -> torch.Tensor:
        for what in (x.untyped_storage, x.storage, x.is_shared, x.share_memory_, lambda: copy.deepcopy(x), lambda: pickle.dumps(x)):
            with pytest.raises(NotImplementedError, match="Cannot access storage of BatchedTensorImpl"):
                what()
        return x

    vmap(look)(torch.ones(2, 2))
