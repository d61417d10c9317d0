"""`out=` of every operation that has it: written to, resized where it has another shape, and what is returned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_cases import NAMES, bind, copied, is_array, samples, tree_map

import torchcompat as torch
from autograd_tape.ops import RECORDS
from torchcompat._tensor import frontend

WITHOUT_DIM = ("median", "nanmedian")  # over all elements they have no out
WITH_OUT = [n for n in NAMES if RECORDS[n].out and [t for t, _ in RECORDS[n].returns] == ["Tensor"]
            and RECORDS[n].family not in ("view", "view?")
            and n not in WITHOUT_DIM and n != "empty"]  # whose values are whatever lay in memory


def made(value: Any) -> Any:
    return tree_map(lambda x: torch.from_numpy(np.array(x)) if is_array(x) else x, copied(value))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", WITH_OUT)
def test_out_is_resized(name: str) -> None:
    rec = RECORDS[name]
    function = frontend.function(name)
    compared = 0
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        if "out" in kwargs:
            continue
        torch.manual_seed(0)
        expected = function(*made(args), **made(kwargs))
        if not isinstance(expected, torch.Tensor):
            continue
        compared += 1
        for shape in ((0,), (2, *expected.shape), tuple(expected.shape)):
            out = torch.zeros(shape, dtype=expected.dtype)
            torch.manual_seed(0)
            if out.numel() and shape != tuple(expected.shape):
                with pytest.warns(UserWarning, match="was resized since it had shape"):
                    returned = function(*made(args), **made(kwargs), out=out)
            else:
                returned = function(*made(args), **made(kwargs), out=out)
            assert returned is out
            assert out.shape == expected.shape
            np.testing.assert_array_equal(out.numpy(), expected.numpy())
    assert compared
