"""Which of several equal numbers `topk` and `kthvalue` find, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ops.selection_cases import ROWS, TABLE

import torchcompat as torch
from autograd_tape.ops.reductions.order import UNSTABLE

@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_rows_are_told_apart_along_any_dimension() -> None:
    row, k = ROWS["5"]
    x = torch.tensor([row, row[::-1]])
    alone = [torch.topk(torch.tensor(r), k)[1].tolist() for r in (row, row[::-1])]
    assert torch.topk(x, k)[1].tolist() == alone and torch.topk(x.t(), k, dim=0)[1].t().tolist() == alone
    assert torch.kthvalue(x, k, keepdim=True)[1].tolist() == [[torch.kthvalue(torch.tensor(r), k)[1].item()] for r in (row, row[::-1])]
    assert torch.topk(torch.zeros(0, 3, dtype=torch.int64), 2)[1].shape == (0, 2)


def test_large_ones_have_the_same_values() -> None:
    numbers = np.random.default_rng(0).integers(0, 50, UNSTABLE + 1)
    values, indices = torch.topk(torch.from_numpy(numbers), 100)
    assert values.tolist() == sorted(numbers.tolist(), reverse=True)[:100] and numbers[indices.numpy()].tolist() == values.tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool])
def test_what_is_selected_without_places_is_what_is_selected_with_them(dtype: Any) -> None:
    for special in ((), (0.0, -0.0), (float("nan"), float("inf")), (-0.0, float("nan"))):
        for n in (1, 2, 7, 90):
            a = np.round(np.random.default_rng(n).standard_normal((n, 3)) * 9)
            a.flat[:len(special)] = special
            x = (torch.from_numpy(np.nan_to_num(a)) if not dtype.is_floating_point else torch.from_numpy(a)).to(dtype)
            for y in (x, x.T, x[::2]):
                flat, together = y.reshape(-1), y.msort()
                pairs = [(together, torch.sort(y, 0).values)]
                if dtype is not torch.bool:
                    pairs += [(y.median(), flat.median(0).values), (y.nanmedian(), flat.nanmedian(0).values)]
                for found, expected in pairs:
                    assert (found.dtype, found.shape, found.stride()) == (expected.dtype, expected.shape, expected.stride())
                    assert str(found.tolist()) == str(expected.tolist())


@pytest.mark.parametrize("largest", [True, False])
def test_equal_ones_below_the_best_are_no_ties(largest: bool) -> None:
    sign = 1.0 if largest else -1.0
    row = [2.0] * 70 + [3.0, 3.0, 9.0, 7.0, 8.0]
    for k, places in ((1, [72]), (2, [72, 74]), (3, [72, 74, 73])):
        found = torch.topk(torch.tensor([row, row]) * sign, k, largest=largest)
        assert found.indices.tolist() == [places, places] and found.values[0].tolist() == [row[i] * sign for i in places]
    assert torch.topk(torch.full((3, 80), sign), 1, largest=largest).indices.tolist() == [[0]] * 3  # a heap of one keeps the first
    last = [*row, float("nan")]
    assert torch.topk(torch.tensor(last), 1).indices.tolist() == [75] and torch.topk(-torch.tensor(last), 1, largest=False).indices == 72
