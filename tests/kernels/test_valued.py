"""Functions of many integers and truth values, which are looked up, give what they give for the same numbers in floating point."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.functions.general import takes_integers
from autograd_tape.record import RECORDS

OPERATIONS = sorted([rec.name for rec in RECORDS.values() if rec.family == "unary" and rec.promotion == "float" and takes_integers(rec)])
_rng = np.random.default_rng(0)


def function_of(name: str) -> Any:
    home: Any = {"special": torch.special, "nn.functional": torch.nn.functional}.get(RECORDS[name].namespace, torch)
    return lambda x: getattr(home, name)(x, *[2] * (name == "mvlgamma"))


@pytest.mark.parametrize("name", OPERATIONS)
def test_they_give_the_bits_of_floating_point_numbers(name: str) -> None:
    function = function_of(name)
    near = _rng.integers(-3, 9, (30, 40))
    for x in (near > 2, near, near.T, near[:, ::2], np.broadcast_to(near[:, :1], (30, 40)), near.astype(np.uint8), near.astype(np.int32),
              _rng.integers(-300, 800, (30, 40)), np.where(near == 3, 10**12, near)):
        if x.dtype == bool and name in ("softsign", "tanhshrink", "mvlgamma"):  # which refuse truth values
            continue
        t = torch.from_numpy(x) if x.flags.writeable else torch.from_numpy(x[:, :1].copy()).expand(30, 40)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, expected = function(t), function(t.to(torch.float32))
        assert found.dtype == torch.float32 and found.stride() == expected.stride()
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
