"""Programs of torch.nn.utils, and calls at the edges of what network functions take, against what torch made of them."""

from __future__ import annotations

import copy
import pickle

import pytest

import torchcompat as torch
from torchcompat import nn
from torchcompat.nn import functional as F

from . import mixed_cases, odd_cases, utils_cases


def test_as_torch() -> None:
    utils_cases.TABLE.assert_as_torch(torch, *utils_cases.TABLE.recorded)


def test_edges() -> None:
    odd_cases.TABLE.assert_as_torch(torch, *odd_cases.TABLE.recorded)


def test_layers_of_mixed_dtypes() -> None:
    mixed_cases.TABLE.assert_as_torch(torch, *mixed_cases.TABLE.recorded)


@pytest.mark.parametrize("call", [
    lambda u: u + u, lambda u: torch.add(torch.ones(3), u), lambda u: u.sum(), lambda u: u[0], lambda u: u.zero_(), lambda u: u == 1,
    lambda u: torch.zeros_like(u), lambda u: F.linear(torch.ones(3), u), lambda u: u.clone(), lambda u: torch.cat([torch.ones(1), u]),
    lambda u: u.mul_(2), lambda u: torch.einsum("i->", u), lambda u: u.reshape(-1)])
@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.parameter.UninitializedBuffer])
def test_parameters_without_a_shape_are_refused(kind, call) -> None:
    with pytest.raises(ValueError, match=f"Attempted to use an uninitialized parameter in .*{kind.__name__}"):
        call(kind())


def test_lazy_modules_are_copied_converted_and_then_as_any() -> None:
    with pytest.warns(UserWarning, match="Lazy modules"):
        model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    with pytest.raises(ValueError, match=r"uninitialized parameter in <function Tensor.__deepcopy__ .*parameter.UninitializedBuffer` obj"):
        copy.deepcopy(model)
    twins = [nn.Sequential(copy.deepcopy(model[0]), nn.BatchNorm1d(3)), pickle.loads(pickle.dumps(model)), model.double().float()]
    for twin in twins:
        y = twin(torch.ones(2, 5))
        y.sum().backward()
        assert twin[0].weight.grad.shape == (3, 5)
        assert all(t._k is torch.ones(1, dtype=t.dtype)._k for t in twin.state_dict().values())
        assert all(p._k is torch.ones(1)._k for p in twin.parameters()), "which is what quiet paths take"
    assert model.to("meta")[0].weight.is_meta
