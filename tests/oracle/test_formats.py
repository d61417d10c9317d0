"""Memory formats of results, gradients and converted tensors, against what torch gave."""

from __future__ import annotations

import pytest
from tests.oracle.format_cases import NAMES, TABLE

import torchcompat as torch


@pytest.mark.parametrize("call", NAMES)
def test_strides_as_torch(call: str) -> None:
    TABLE.assert_as_torch(torch, call)


def test_the_record_has_channels_last_memory() -> None:
    assert TABLE.recorded["F.batch_norm(x, None, None, training=True)"]["pictures, last"] == {
        "result": [60, 1, 15, 3], "gradients": [[60, 1, 15, 3], None, None]}
