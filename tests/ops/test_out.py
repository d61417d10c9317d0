"""`out=` of every operation that has it: written to, resized where it has another shape, and what is returned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ops.op_cases import NAMES, bind, copied, is_array, refuses_out, samples, tree_map
from tests.ops.out_cases import TABLE
from tests.ops.public_calls import INNER, refused

import torchcompat as torch
from autograd_tape.ops import RECORDS
from torchcompat._tensor import frontend

WITHOUT_DIM = ("median", "nanmedian")  # over all elements they have no out
WITH_OUT = [n for n in NAMES if RECORDS[n].out and [t for t, _ in RECORDS[n].returns] == ["Tensor"]
            and RECORDS[n].family not in ("view", "view?")
            and n not in WITHOUT_DIM and n != "empty"]  # whose values are whatever lay in memory


def without_out(rec: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether torch's signature for these arguments has no `out=`."""
    if rec.field("no_out") is not None:
        return refuses_out(rec, made(args), made(kwargs))
    return rec.name in ("std", "var") and len(args) > 1 and isinstance(args[1], bool)


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
        if without_out(rec, args, kwargs):
            with pytest.raises(TypeError, match=r"invalid combination of arguments - got .*out=Tensor\)|this signature has no out="):
                function(*made(args), **made(kwargs), out=torch.zeros_like(expected))
            continue
        compared += 1
        for shape in ((0,), (2, *expected.shape), tuple(expected.shape)):
            out = torch.zeros(shape, dtype=expected.dtype)
            torch.manual_seed(0)
            if out.numel() and shape != tuple(expected.shape):
                with pytest.warns(UserWarning, match="was resized since it had shape|will be resized to a tensor of shape"):
                    returned = function(*made(args), **made(kwargs), out=out)
            else:
                returned = function(*made(args), **made(kwargs), out=out)
            assert returned is out
            assert out.shape == expected.shape
            if rec.field("fused"):
                np.testing.assert_allclose(out.numpy(), expected.numpy(), 1e-12)
            else:
                np.testing.assert_array_equal(out.numpy(), expected.resolve_conj().numpy())
    assert compared


def test_differences_are_few_and_no_inner_errors() -> None:
    assert not [call for call, found in TABLE.differ.items() if found.startswith(INNER)]
    assert len(TABLE.differ) < 0.015 * len(TABLE.recorded)
    kinds = [call.partition(",")[0] for call in TABLE.recorded]
    assert min(kinds.count(kind) for kind in set(kinds)) > 500
    assert 0.2 < sum(map(refused, TABLE.recorded.values())) / len(TABLE.recorded) < 0.8


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nothing_is_written_where_one_of_several_is_refused() -> None:
    values, indices = torch.zeros(3), torch.zeros(5, dtype=torch.float32)
    with pytest.raises(RuntimeError, match="expected scalar_type|Expected out tensor"):
        torch.max(torch.ones(2, 3), 0, out=(values, indices))
    assert values.tolist() == [0, 0, 0] and indices.shape == (5,)


def test_results_of_several_tensors_come_as_their_type() -> None:
    outs = torch.empty(0), torch.empty(0, dtype=torch.int64)
    found = torch.sort(torch.tensor([2.0, 1.0]), out=outs)
    assert found.values is outs[0] and found.indices is outs[1] and outs[1].tolist() == [1, 0]
