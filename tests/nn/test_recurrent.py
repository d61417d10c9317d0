"""Recurrent layers and cells against torch's record."""

from __future__ import annotations

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
