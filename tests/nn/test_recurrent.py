"""Recurrent layers and cells against torch's record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchcompat as torch

from . import recurrent_cases


@pytest.mark.parametrize("group", range(4))
def test_layers(group: int) -> None:
    recurrent_cases.TABLE.assert_as_torch(torch, *recurrent_cases.TABLE.part(group, 4))


def test_calls() -> None:
    recurrent_cases.CALLED.assert_as_torch(torch, *recurrent_cases.CALLED.recorded)


def test_dtypes_under_autocast() -> None:
    recurrent_cases.AUTOCAST.assert_as_torch(torch, *recurrent_cases.AUTOCAST.recorded)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_one_record_a_layer_and_direction(kind: str) -> None:
    """No step is made of others."""
    module = getattr(torch.nn, kind)(3, 4, 2, bidirectional=True)
    packed = torch.nn.utils.rnn.pack_sequence([torch.randn(5, 3), torch.randn(2, 3)])
    for given in (torch.randn(5, 2, 3), packed):
        y = module(given)[0]
        data = y.data if given is packed else y
        names, left, seen = [], [data.grad_fn], set()
        while left:
            node = left.pop()
            if node is not None and node not in seen:
                seen.add(node)
                names.append(getattr(getattr(node, "op", None), "name", ""))
                left += [n for n, _ in node.next_functions]
        assert sum(name in ("lstm_layer", "rnn_layer") for name in names) == 4 and len(names) < 40


def test_gradients_of_biases_are_tensors_of_their_own() -> None:
    module = torch.nn.LSTM(3, 4)
    module(torch.randn(5, 2, 3))[0].sum().backward()
    first, second = module.bias_ih_l0.grad, module.bias_hh_l0.grad
    assert torch.equal(first, second)
    first.add_(1)
    assert not torch.equal(first, second)


def test_only_what_is_wanted_is_computed() -> None:
    module = torch.nn.GRU(3, 4)
    module.weight_hh_l0.requires_grad_(False)
    module(torch.randn(5, 2, 3))[0].sum().backward()
    assert module.weight_hh_l0.grad is None and module.weight_ih_l0.grad is not None


@pytest.mark.parametrize("name", ["rnn_tanh", "rnn_relu", "gru", "lstm"])
def test_rows_of_packed_data_that_no_batch_has(name: str) -> None:
    """Forwards the first ones are read, backwards the last ones; too few are refused."""
    gates = {"gru": 3, "lstm": 4}.get(name, 1) * 4
    sizes, h = torch.tensor([2, 1]), torch.rand(2, 2, 4)
    w = [torch.rand(gates, n) for _ in range(2) for n in (3, 4)]

    def of(x: torch.Tensor) -> torch.Tensor:
        return getattr(torch, name)(x, sizes, (h, h) if name == "lstm" else h, w, False, 1, 0.0, False, True)[0]

    x = torch.rand(9, 3, requires_grad=True)
    found = of(x)
    assert torch.equal(found[:, :4], of(x[:3])[:, :4]) and torch.equal(found[:, 4:], of(x[6:])[:, 4:])
    found.sum().backward()
    assert x.grad is not None and [bool(row.any()) for row in x.grad] == [True] * 3 + [False] * 3 + [True] * 3
    with pytest.raises(RuntimeError, match=r"start \(2\) \+ length \(1\) exceeds dimension size \(2\)\."):
        of(x[:2])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("mode", ["rnn_tanh", "rnn_relu", "gru", "lstm"])
@pytest.mark.parametrize("size", [4, 70])
def test_results_are_the_same_recorded_or_not(mode: str, size: int, dtype: Any) -> None:
    """Below the operations, where nobody listens, each is rounded as one of these."""
    gates, rng = {"gru": 3, "lstm": 4}.get(mode, 1), np.random.default_rng(0)
    def drawn(*shape: int) -> Any: return torch.tensor(rng.standard_normal(shape) / 2).to(dtype)
    params = [drawn(gates * size, n) if n else drawn(gates * size) for _ in range(2) for n in (3, size, 0, 0)]
    h = drawn(2, 3, size), drawn(2, 3, size)
    hx: Any = h if mode == "lstm" else h[0]
    function, cell = getattr(torch, mode), getattr(torch, mode + "_cell")
    calls = [lambda x, _: function(x, hx, params, True, 1, 0.0, False, True, False),
             lambda x, _: function(x.transpose(0, 1), hx, params, True, 1, 0.0, False, True, True),
             lambda _, x: function(x, torch.tensor([3, 2, 1]), hx, params, True, 1, 0.0, False, True),
             lambda _, x: cell(x[:3], (h[0][0], h[1][0]) if mode == "lstm" else h[0][0], *params[:4])]
    for call in calls:
        whole, packed = drawn(4, 3, 3), drawn(6, 3)
        plain = call(whole, packed)
        recorded = call(whole.requires_grad_(), packed.requires_grad_())
        for a, b in zip(*[(y,) if isinstance(y, torch.Tensor) else y for y in (plain, recorded)]):
            assert not a.requires_grad and a.dtype is b.dtype is dtype and a.stride() == b.stride()
            if mode != "lstm" or b.grad_fn.name() != "MkldnnRnnLayerBackward0":  # which is rounded once
                assert torch.equal(a, b.detach())
