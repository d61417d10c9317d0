"""float64 becomes float16 by way of float32, rounded twice, as in torch (`c10::Half` is made of a float), wherever numbers are stored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import torchcompat as torch
from torchcompat import Tensor

_DRAWN = np.random.RandomState(0).randn(200_000)
TWICE = _DRAWN[_DRAWN.astype(np.float16) != _DRAWN.astype(np.float32).astype(np.float16)][:8]
"""Numbers that are another float16 when they are rounded once."""
HALF = torch.float16
WAYS: dict[str, Callable[[float], Tensor]] = {
    "to": lambda v: torch.tensor([v], dtype=torch.float64).to(HALF),
    "half": lambda v: torch.tensor([[v]], dtype=torch.float64).t().half(),
    "tensor": lambda v: torch.tensor([v], dtype=HALF),
    "of an array": lambda v: torch.tensor(np.array([v]), dtype=HALF),
    "as_tensor": lambda v: torch.as_tensor(np.array([v]), dtype=HALF),
    "full": lambda v: torch.full((1,), v, dtype=HALF),
    "full_like": lambda v: torch.full_like(torch.zeros(1, dtype=HALF), v),
    "fill_": lambda v: torch.zeros(1, dtype=HALF).fill_(v),
    "fill_ by a tensor": lambda v: torch.zeros(1, dtype=HALF).fill_(torch.tensor(v, dtype=torch.float64)),
    "copy_": lambda v: torch.zeros(1, dtype=HALF).copy_(torch.tensor([v], dtype=torch.float64)),
    "masked_fill": lambda v: torch.zeros(1, dtype=HALF).masked_fill(torch.tensor([True]), v),
    "masked_fill_": lambda v: torch.zeros(1, dtype=HALF).masked_fill_(torch.tensor([True]), v),
    "an element": lambda v: _changed(v),
    "index_fill": lambda v: torch.zeros(1, dtype=HALF).index_fill(0, torch.tensor([0]), v),
    "scatter": lambda v: torch.zeros(1, dtype=HALF).scatter(0, torch.tensor([0]), v),
    "pad": lambda v: torch.nn.functional.pad(torch.zeros(0, dtype=HALF), (1, 0), value=v),
    "where": lambda v: torch.where(torch.tensor([True]), v, torch.zeros(1, dtype=HALF)),
    "add": lambda v: torch.zeros(1, dtype=HALF) + v,
    "add_ of float64": lambda v: torch.zeros(1, dtype=HALF).add_(torch.tensor([v], dtype=torch.float64)),
    "nan_to_num": lambda v: torch.tensor([float("nan")], dtype=HALF).nan_to_num(v),
    "out": lambda v: torch.add(torch.tensor([v], dtype=torch.float64), 0.0, out=torch.zeros(1, dtype=HALF)),
    "a module": lambda v: _module(v),
}


def _changed(v: float) -> Tensor:
    x = torch.zeros(1, dtype=HALF)
    x[0] = v
    return x


def _module(v: float) -> Tensor:
    linear = torch.nn.Linear(1, 1, bias=False).double()
    with torch.no_grad():
        linear.weight.fill_(v)
    return linear.half().weight.detach()


@pytest.mark.no_numbers("conversions")
@pytest.mark.parametrize("way", WAYS)
def test_float64_becomes_float16_by_way_of_float32(way: str) -> None:
    assert len(TWICE)
    for v in TWICE.tolist():
        assert WAYS[way](v).item() == float(np.float16(np.float32(v)))


@pytest.mark.no_numbers("strides")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_results_of_expanded_halves_lie_as_those_of_float32(dtype: torch.dtype) -> None:
    for shape, order in (((1, 4), (0, 1)), ((2, 1, 3), (0, 1, 2)), ((1, 5, 3), (1, 0, 2))):
        x = torch.ones(shape).expand([5 if n == 1 else n for n in shape]).permute(order)
        for f in (torch.tanh, torch.relu, torch.floor, torch.nn.functional.silu, torch.square, torch.erf):
            assert f(x.to(torch.float32)).stride() == f(torch.ones(shape, dtype=dtype).expand([5 if n == 1 else n for n in shape])
                                                        .permute(order)).stride()


@pytest.mark.no_numbers("strides")
def test_no_result_goes_through_memory_backwards() -> None:
    for x in (torch.ones(3, 1), torch.ones(1, 3), torch.ones(2, 5)[:, :3], torch.arange(6).view(2, 3)):
        for result in (*x.topk(1), *x.topk(1, 0), *x.sort(descending=True), x.flip(0), x.flip(1), x.rot90()):
            assert min(result.stride()) >= 0
