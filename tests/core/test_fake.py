"""Fakes of tensors, against what was recorded from torch."""

from __future__ import annotations

import pytest

import torchcompat as torch
from torchcompat._subclasses.fake_tensor import FakeTensorMode, UnsupportedFakeTensorException

from .fake_cases import TABLE

GROUPS = 8


@pytest.mark.parametrize("group", range(GROUPS))
def test_fakes_are_torchs(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, GROUPS))


def test_fakes_of_two_modes_do_not_mix() -> None:
    one, other = FakeTensorMode(), FakeTensorMode()
    with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        one.from_tensor(torch.ones(2)) + other.from_tensor(torch.ones(2))


def test_what_a_mode_knows_of_tensors_goes_with_them() -> None:
    mode, x = FakeTensorMode(), torch.ones(2)
    fake = mode.from_tensor(x)
    assert len(mode.fake_tensor_converter.tensor_memo) == 1 and fake.fake_mode is mode
    del x
    assert len(mode.fake_tensor_converter.tensor_memo) == 0


def test_there_are_no_fakes_of_sparse_tensors() -> None:
    with pytest.raises(UnsupportedFakeTensorException, match="meta converter nyi"):
        FakeTensorMode().from_tensor(torch.eye(2).to_sparse())
