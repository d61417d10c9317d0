"""In-place variants against the operations themselves: what they write, what they refuse to, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.ops import op_cases
import pytest

import torchcompat as torch
from autograd_tape.dtypes import FLOATING
from autograd_tape.ops import RECORDS
from torchcompat._tensor import frontend

RANDOM = {"dropout", "alpha_dropout", "feature_alpha_dropout", "feature_dropout", "rrelu"}
NAMES = [n for n, r in RECORDS.items() if r.field("samples") and hasattr(torch.Tensor, n + "_") and n not in RANDOM]
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex128)


def calls(name: str, dtype: Any) -> list[tuple[Any, list[Any], dict[str, Any]]]:
    """(target, other arguments, keywords) of each sample whose first tensor is the target, which has a dtype; others have their own."""
    found = []
    for sample in op_cases.samples(RECORDS[name]):
        args, kwargs = op_cases.bind(RECORDS[name], sample)
        first = 1 if name == "polygamma" else 0
        given = [torch.from_numpy(np.array(a)) if op_cases.is_array(a) else a for a in args]
        if isinstance(given[first], torch.Tensor):
            others = given[:first] + given[first + 1:]
            rest = [t.to(dtype) if isinstance(t, torch.Tensor) and t.dtype is torch.float64 else t for t in others]
            named = {k: torch.from_numpy(np.array(a)) if op_cases.is_array(a) else a for k, a in kwargs.items()}
            found.append((given[first].to(dtype), rest, named))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_in_place_writes_what_the_operation_gives_or_nothing(name: str, excused: Callable[[str], None],
                                                             compared: Callable[[int], None]) -> None:
    """A result that its target cannot hold - a fraction, another shape - is refused, never cast."""
    done = 0
    for dtype in DTYPES:
        for target, rest, kwargs in calls(name, dtype):
            before = target.clone()
            try:
                expected = getattr(before, name)(*rest, **kwargs) if hasattr(torch.Tensor, name) else frontend.function(name)(before, *rest)
            except (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError) as error:
                excused(str(error))
                continue
            version = target._version
            try:
                found = getattr(target, name + "_")(*rest, **kwargs)
            except (RuntimeError, NotImplementedError, TypeError) as error:
                np.testing.assert_array_equal(target.to(torch.complex128).numpy(), before.to(torch.complex128).numpy())
                needless = expected.dtype is dtype and dtype is torch.float64 and expected.shape == before.shape
                assert not needless, error
                continue
            assert found is target and target._version > version
            assert expected.dtype.category <= dtype.category or dtype.category >= FLOATING
            assert not (dtype.is_complex and expected.dtype.is_floating_point)
            np.testing.assert_allclose(target.to(torch.complex128).numpy(), expected.to(dtype).to(torch.complex128).numpy(), rtol=1e-2)
            done += 1
    compared(done)
    if not done:
        excused("refused")


@pytest.mark.parametrize("name", [n for n in NAMES if RECORDS[n].has_gradient or RECORDS[n].field("function") is not None])
def test_gradients_in_place_are_those_of_the_operation(name: str, excused: Callable[[str], None], compared: Callable[[int], None]) -> None:
    done = 0
    for target, rest, kwargs in calls(name, torch.float64):
        found = []
        for suffix in ("", "_"):
            x = target.clone().requires_grad_()
            try:
                function = getattr(torch.Tensor, name + suffix, None) or frontend.function(name + suffix)
                y = function(x * 1, *rest, **kwargs)
                found.append(torch.autograd.grad(y.sum(), x)[0] if y.requires_grad else None)
            except (RuntimeError, NotImplementedError, TypeError) as error:
                found.append(error)
        plain, own = found
        if RECORDS[name].field("no_derivative_"):
            assert isinstance(own, NotImplementedError) and "'inplace version of" in str(own)
        elif isinstance(plain, torch.Tensor) and isinstance(own, torch.Tensor):
            np.testing.assert_allclose(own.numpy(), plain.numpy())
        elif isinstance(plain, torch.Tensor):
            assert own is None and not plain.any() or any([word in str(own) for word in ("can't be cast", "the broadcast shape")]), own
        else:
            excused(f"no gradient: {plain}")
            continue
        done += 1
    compared(done)
    if not done:
        excused("nothing to differentiate")
