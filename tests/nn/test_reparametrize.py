"""Parameters computed from others, calls with other parameters, and layers folded into one."""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

import torchcompat as torch
from torchcompat import nn
from torchcompat.nn.utils import parametrizations, parametrize, stateless


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, a):
        return a.triu()


class Double(nn.Module):
    def forward(self, x):
        return 2 * x


def test_parametrize():
    layer = nn.Linear(3, 3)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert type(layer).__name__ == "ParametrizedLinear" and parametrize.type_before_parametrizations(layer) is nn.Linear
    assert torch.equal(layer.weight, layer.weight.T) and torch.equal(layer.weight.triu(), before.triu())
    assert [n for n, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    layer.weight = torch.eye(3)
    assert torch.equal(layer.weight, torch.eye(3))
    parametrize.register_parametrization(layer, "weight", Double())
    assert torch.equal(layer.weight, 2 * torch.eye(3)) and len(layer.parametrizations.weight) == 2
    with pytest.raises(RuntimeError, match="parametrization Double does not implement right_inverse."):
        layer.weight = torch.eye(3)
    with parametrize.cached():
        assert layer.weight is layer.weight
    twin = copy.deepcopy(layer)
    assert torch.equal(twin.weight, layer.weight)
    with pytest.raises(RuntimeError, match="Serialization of parametrized modules is only supported through state_dict"):
        pickle.dumps(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter) and torch.equal(layer.weight, 2 * torch.eye(3))


def test_parametrize_errors():
    class Grows(nn.Module):
        def forward(self, x):
            return torch.cat([x, x])

    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="may not change the shape of the tensor, unless `unsafe` flag is enabled."):
        parametrize.register_parametrization(layer, "weight", Grows())
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'nothing'"):
        parametrize.register_parametrization(layer, "nothing", Double())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")


def test_weight_norm():
    layer = nn.Linear(3, 2)
    x, before = torch.randn(4, 3), copy.deepcopy(layer)
    parametrizations.weight_norm(layer)
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert torch.allclose(layer(x), before(x), atol=1e-6)
    layer.parametrizations.weight.original0.data.mul_(2)
    assert torch.allclose(layer.weight, 2 * before.weight, atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = nn.utils.weight_norm(copy.deepcopy(before))
    assert torch.allclose(old(x), before(x), atol=1e-6) and list(old.state_dict()) == ["bias", "weight_g", "weight_v"]
    old(x).sum().backward()
    assert old.weight_g.grad.shape == (2, 1)
    fresh = parametrizations.weight_norm(nn.Linear(3, 2))
    fresh.load_state_dict(old.state_dict())
    assert torch.allclose(fresh(x), before(x), atol=1e-6)
    assert isinstance(nn.utils.remove_weight_norm(old).weight, nn.Parameter)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        nn.utils.remove_weight_norm(old)


def test_spectral_norm():
    torch.manual_seed(0)
    layer = parametrizations.spectral_norm(nn.Linear(5, 4), n_power_iterations=5)
    for _ in range(5):
        layer(torch.ones(1, 5))
    largest = np.linalg.svd(layer.weight.detach().numpy(), compute_uv=False)[0]
    assert largest == pytest.approx(1.0, abs=1e-3)
    layer(torch.ones(1, 5)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None


def test_functional_call():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    own = net[0].weight
    given = {"0.weight": torch.zeros(2, 2, requires_grad=True), "1.num_batches_tracked": torch.tensor(7)}
    out = stateless._functional_call(net, given, torch.randn(3, 2))
    out.sum().backward()
    assert given["0.weight"].grad is not None and own.grad is None and net[0].weight is own
    assert given["1.num_batches_tracked"].item() == 8 and net[1].num_batches_tracked.item() == 0
    text = "Error(s) in reparametrizing for Sequential:\n\tUnexpected key(s): 'x'.\n\tMissing key(s):"
    with pytest.raises(RuntimeError, match=re.escape(text)):
        stateless._functional_call(net, {"x": torch.ones(1)}, torch.ones(3, 2), strict=True)
    tied = nn.ModuleList([nn.Linear(1, 1, bias=False)] * 2)
    tied.forward = lambda x: tied[1](tied[0](x))
    assert stateless._functional_call(tied, {"0.weight": torch.full((1, 1), 3.0)}, torch.ones(1)).item() == 9.0


def test_fusion():
    torch.manual_seed(0)
    conv, bn = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
    bn(torch.randn(4, 3, 2, 2) * 2 + 1)
    nn.init.uniform_(bn.weight)
    x = torch.randn(1, 2, 5, 5)
    conv.eval(), bn.eval()
    assert torch.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    linear, norm = nn.Linear(2, 3, bias=False).eval(), nn.BatchNorm1d(3).eval()
    assert torch.allclose(nn.utils.fuse_linear_bn_eval(linear, norm)(x[0, :, 0, :2]), norm(linear(x[0, :, 0, :2])), atol=1e-5)
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        nn.utils.fuse_conv_bn_eval(conv.train(), bn)
