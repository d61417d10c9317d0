"""torch.nn.init and torch.nn.utils.rnn against what real torch drew from the same seed."""

from __future__ import annotations

import re

import numpy as np
import pytest

import torchcompat as torch
from torchcompat.nn import init
from torchcompat.nn.utils import rnn

from .init_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_gains() -> None:
    assert [init.calculate_gain(n) for n in ("linear", "conv2d", "sigmoid", "tanh", "selu")] == [1, 1, 1, 5 / 3, 0.75]
    assert init.calculate_gain("relu") == 2**0.5 and init.calculate_gain("leaky_relu", 1) == 1.0
    with pytest.raises(ValueError, match="^Unsupported nonlinearity sign$"):
        init.calculate_gain("sign")


def test_errors() -> None:
    for text, call in [
        ("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions", lambda t: init.xavier_uniform_(t)),
        ("Only tensors with 2 dimensions are supported", lambda t: init.eye_(t)),
        ("Only tensors with 3, 4, or 5 dimensions are supported", lambda t: init.dirac_(t)),
        ("Only tensors with 2 or more dimensions are supported", lambda t: init.orthogonal_(t)),
    ]:
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            call(torch.empty(3))
    with pytest.raises(ValueError, match=re.escape("Mode fan not supported, please use one of ['fan_in', 'fan_out']")):
        init.kaiming_normal_(torch.empty(2, 2), mode="fan")
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        init.kaiming_normal_(torch.empty(0, 2))
    with pytest.warns(FutureWarning, match="`nn.init.uniform` is now deprecated in favor of `nn.init.uniform_`."):
        init.uniform(torch.empty(2))


def test_parameters_get_no_history() -> None:
    p = torch.nn.Parameter(torch.empty(3, 3))
    assert init.orthogonal_(p) is p and p.is_leaf
    product = p.detach() @ p.detach().T
    np.testing.assert_allclose(product.numpy(), np.eye(3), atol=1e-5)


def test_packed_sequences() -> None:
    parts = [torch.arange(n, dtype=torch.float32) + 10 * n for n in (2, 4, 1)]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1] and packed.sorted_indices.tolist() == [1, 0, 2]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    assert lengths.tolist() == [2, 4, 1] and padded.tolist()[2] == [10, -1, -1, -1]
    assert [p.tolist() for p in rnn.unpack_sequence(packed)] == [p.tolist() for p in parts]
    assert rnn.pad_sequence(parts, padding_side="left").T.tolist()[2] == [0, 0, 0, 10]
    with pytest.raises(RuntimeError, match="`lengths` array must be sorted in decreasing order when `enforce_sorted` is True"):
        rnn.pack_sequence(parts)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_recurrence_is_that_of_each_sequence(bidirectional: bool) -> None:
    torch.manual_seed(0)
    net = torch.nn.LSTM(2, 3, num_layers=2, bidirectional=bidirectional)
    parts = [torch.randn(n, 2) for n in (2, 4, 1)]
    output, (h, c) = net(rnn.pack_sequence(parts, enforce_sorted=False))
    for i, (part, found) in enumerate(zip(parts, rnn.unpack_sequence(output), strict=True)):
        expected, (eh, ec) = net(part)
        assert torch.allclose(found, expected, atol=1e-6)
        assert torch.allclose(h[:, i], eh, atol=1e-6) and torch.allclose(c[:, i], ec, atol=1e-6)
