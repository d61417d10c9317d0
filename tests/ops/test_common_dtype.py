"""Operands of several dtypes come to the same on the quiet path, to which they are brought, as on the general one."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest

import torchcompat as torch
from autograd_tape.functions.common import Common

OPERATIONS = ("add", "sub", "mul", "div", "pow", "maximum", "remainder", "atan2", "eq", "lt", "bitwise_and", "where",
              "copysign", "lerp", "logical_or")
DTYPES = ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
NUMBERS = (2, -1, 300, 2.5, 1e300, float("nan"), True)


def _tensor(dtype: str, dims: int) -> Any:
    return (torch.tensor(3) if not dims else torch.arange(1, 7).reshape(2, 3).t() if dims == 2 else torch.arange(2, 4)).to(
        getattr(torch, dtype))


def _said(operation: str, *operands: Any) -> Any:
    """(dtype, sizes, strides, elements) of the result, or that there is none."""
    function = getattr(torch, operation)
    before = [torch.tensor([True, False])] if operation == "where" else []
    after = [operands[-1]] if operation == "lerp" else []
    try:
        result = function(*before, *operands, *after)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return "refused"
    return result.dtype, result.shape, result.stride(), repr(result.tolist())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_common_dtype_is_that_of_the_general_path(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operands = [(_tensor(a, i), _tensor(b, j)) for a, b in itertools.product(DTYPES, repeat=2) for i, j in ((2, 1), (2, 0), (0, 1))]
    operands += [pair for a in DTYPES for n in NUMBERS for d in (2, 0) for pair in ((_tensor(a, d), n), (n, _tensor(a, d)))]
    taken = 0

    def counted(self: Common, args: Any, frontend: Any) -> Any:
        nonlocal taken
        found = brought(self, args, frontend)
        taken += found is not None
        return found

    brought = Common.brought
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        monkeypatch.setattr(Common, "brought", counted)
        short = [_said(operation, *pair) for pair in operands]
        monkeypatch.setattr(Common, "brought", lambda *_: None)
        assert short == [_said(operation, *pair) for pair in operands]
    assert taken > 20


def test_what_is_recorded_keeps_its_operands() -> None:
    x, y = torch.ones(2, dtype=torch.float64, requires_grad=True), torch.tensor([2.0, 3.0])
    z = x * y
    assert z.grad_fn._saved_other.dtype is torch.float32
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("operation", ["chebyshev_polynomial_t", "zeta", "xlogy", "xlog1py", "atan2", "copysign"])
def test_what_was_brought_once_is_computed_at_once(operation: str) -> None:
    """The first call takes the general path, the second none."""
    function = getattr(torch if operation in ("atan2", "copysign") else torch.special, operation)
    dtypes = [torch.bool, torch.uint8, torch.int64, torch.float32, torch.float64]
    for a, b, i, j in itertools.product(dtypes, dtypes, (2, 1, 0), (2, 0)):
        operands = [torch.full((3, 2)[2 - i:], 2).to(a), torch.arange(2, 8).reshape(2, 3).t().to(b) if j else torch.tensor(3).to(b)]
        common = torch.result_type(*operands)
        common = common if common.is_floating_point else torch.float32
        expected = function(*[t.to(common) for t in operands])
        for _ in range(2):
            found = function(*operands)
            assert (found.dtype, found.stride(), repr(found.tolist())) == (common, expected.stride(), repr(expected.tolist()))
        wanted = function(operands[1].to(torch.float32), 2.5) if operation != "atan2" else None
        for _ in range(2 * (wanted is not None)):
            found = function(operands[1].to(torch.int64), 2.5)
            assert (found.dtype, found.stride()) == (torch.float32, wanted.stride())
    x = torch.full((2,), 3.0, requires_grad=True)
    if operation != "chebyshev_polynomial_t":
        for _ in range(2):
            assert function(torch.tensor([2, 3]).double(), x).requires_grad
    with torch.inference_mode():
        assert function(torch.tensor([2, 3]), x).is_inference()
