"""What records change in place in one pass gives what the operation gives, in all dtypes that the kernels take."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand
from autograd_tape.executors.kernels.changes import Change, changed
from autograd_tape.ops import RECORDS

CHANGES = [(name, others) for name, rec in RECORDS.items() for others, change in (rec.field("changes") or {}).items()
           if isinstance(change, Change)]
DTYPES = ("float32", "float64", "bfloat16", "float16")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5)
#: Operations that take a number where there is no other tensor, and those that are not the same without one.
BY_ONE, BY_OTHER = {"maximum": "clamp_min", "minimum": "clamp_max"}, {"clamp_min": "maximum", "clamp_max": "minimum"}
BY_NUMBER = {"add", "sub", "mul", "div", "clamp_min", "clamp_max", "maximum", "minimum"}


def _numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    found = np.round(8 * rng.standard_normal(shape)) / 4
    found.reshape(-1)[:found.size // 2:3] = rng.choice(SPECIAL, found.reshape(-1)[:found.size // 2:3].size)
    return torch.tensor(found).to(getattr(torch, dtype))


def _bits(x: Any) -> list[int]:
    """The elements as they lie in memory; of NaN it does not matter which."""
    wide = x.double()
    return torch.where(wide.isnan(), torch.full_like(wide, 7.25), wide).view(torch.int64).tolist()


@pytest.fixture
def kept() -> Iterator[None]:
    """Machine code of every kernel, for arrays of any size."""
    previous = _on_demand.use_numba("numba")
    yield
    _on_demand.use_numba(previous)


pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no compiled kernels to test")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "others"), CHANGES)
def test_a_change_is_what_the_operation_gives(name: str, others: int, dtype: str, kept: None) -> None:
    rng, change = np.random.default_rng(0), RECORDS[name].field("changes")[others]
    for shape, turned in (((3,), False), ((2, 5), False), ((40, 31), False), ((2048,), False), ((2, 5), True), ((3, 40, 31), True)):
        x, *beside = [_numbers(rng, dtype, shape) for _ in range(1 + others)]
        if turned:  # columns beside rows
            x = x.permute(*range(x.ndim)[::-1]).contiguous().permute(*range(x.ndim)[::-1])
        value = 0.75 if not others and name in BY_NUMBER or name in ("addcmul", "addcdiv") or (name, others) == ("lerp", 1) else 1
        found = x.clone()
        assert changed(change, found._k, value, found._data, *[t._data for t in beside])
        if name in ("copy", "zero"):
            expected = torch.zeros_like(x) if name == "zero" else beside[0]
        elif name in ("addcmul", "addcdiv"):
            expected = getattr(torch, name)(x, *beside, value=value)
        else:
            number = [value] if not others and name in BY_NUMBER or (name, others) == ("lerp", 1) else []
            of = (BY_ONE if number else BY_OTHER if others else {}).get(name, name)
            expected = getattr(torch, of)(x, *beside, *number)
        if name in BY_ONE or name in BY_OTHER:  # of equal zeros either is the larger
            found, expected = found + 0, expected + 0
        assert _bits(found) == _bits(expected), (name, others, dtype, shape)


def test_what_a_change_does_not_take_is_left_alone(kept: None) -> None:
    change, x = RECORDS["floor"].field("changes")[0], torch.full((4, 6), 1.5)
    assert not changed(change, x._k, 1, x[:, ::2]._data)
    by_other = RECORDS["add"].field("changes")[1]
    assert not changed(by_other, x._k, 1, x._data, torch.ones(6)._data) and not changed(by_other, x._k, 1e30, x._data, x._data)
    assert x.unique().tolist() == [1.5]


ALL_OVER = [name for name, rec in RECORDS.items() if rec.field("store_all") is not None]


@pytest.mark.parametrize("dtype", (*DTYPES, "int64"))
@pytest.mark.parametrize("name", ALL_OVER)
def test_a_result_written_over_its_first_operand_is_that_of_the_operation(name: str, dtype: str, kept: None) -> None:
    rng, (shapes, more) = np.random.default_rng(0), {
        "addmm": (("n m", "n k", "k m"), ()), "addmv": (("n", "n k", "k"), ()), "baddbmm": (("b n m", "b n k", "b k m"), ()),
        "addbmm": (("n m", "b n k", "b k m"), ()), "addr": (("n m", "n", "m"), ()), "cumsum": (("b n m",), (1,)),
        "cumprod": (("n m",), (-1,)), "renorm": (("n m",), (2, 0, 1.5))}[name]
    if name == "renorm" and dtype == "int64":
        return
    for sizes in ({"b": 2, "n": 3, "m": 4, "k": 2}, {"b": 3, "n": 40, "m": 31, "k": 17}, {"b": 1, "n": 1, "m": 300, "k": 1}):
        x, *others = [_numbers(rng, "float32", tuple([sizes[n] for n in s.split()])).nan_to_num(1, 2, -2).to(getattr(torch, dtype))
                      for s in shapes]
        for target in (x.clone(), x.clone().mT.contiguous().mT if x.ndim > 1 else x.clone(), x.repeat_interleave(2, -1)[..., ::2]):
            strides, expected = target.stride(), getattr(torch, name)(x, *others, *more)
            assert getattr(target, name + "_")(*others, *more) is target and target._version == 1 and target.stride() == strides
            assert _bits(target) == _bits(expected), (name, dtype, sizes, strides)


#: By operation, what it is called with; a shape stands for a tensor of it, and of the tensor's dtype.
OPTIONS: dict[str, list[tuple[Any, ...]]] = {
    "clamp": [(-0.5, 0.5), (None, 1), (0, None), (1, -1)], "clamp_min": [(1,)], "clamp_max": [(1,)],
    "nan_to_num": [(), (1.0, 2.0, 3.0), (0.1,)],
}
BROADCAST = [((81, 123), (81, 123)), ((81, 123), (81, 1)), ((81, 123), (123,)), ((2000, 7), (2000, 1)), ((2000, 7), (7,)),
             ((5, 40, 31), (5, 1, 31)), ((81, 123), (1,))]
OTHERS = [name for name, rec in RECORDS.items() if name not in ("mul", "add") and any([
    not isinstance(change, Change) or change.whole is not None for change in (rec.field("changes") or {}).values()])]


def _of(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], turned: bool) -> Any:
    if dtype.startswith(("int", "bool")):
        x = torch.tensor(rng.integers(-70, 90, shape)) if dtype == "int64" else torch.tensor(rng.integers(0, 2, shape) > 0)
    else:
        x = _numbers(rng, dtype, shape)
    return x.mT.contiguous().mT if turned and x.ndim > 1 else x


@pytest.mark.parametrize("dtype", (*DTYPES, "int64", "bool"))
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_written_over_is_what_the_operation_gives(name: str, dtype: str, kept: None) -> None:
    """By methods, in rows and columns, with operands that are broadcast, and with numbers."""
    rng, rec = np.random.default_rng(0), RECORDS[name]
    function, inplace = getattr(torch, name), getattr(torch.Tensor, f"{name}_")
    cases: list[tuple[tuple[int, ...], Any]] = [((81, 123), options) for options in OPTIONS.get(name, [()])]
    if len(rec.tensor_params) > 1:
        cases = [(shape, other) for shape, other in BROADCAST]
        cases += [((81, 123), number) for number in (2, -0.0, 0.5)] if rec.params[1].type == "Operand" else []
    for (shape, other), turned in itertools.product(cases, (False, True)):
        x = _of(rng, dtype, shape, turned)
        given = other if len(rec.tensor_params) == 1 else (other if isinstance(other, (int, float)) else _of(rng, dtype, other, False),)
        try:
            expected = function(x, *given)
        except (RuntimeError, NotImplementedError):  # of this dtype there is none
            continue
        if expected.dtype is not x.dtype and not expected.dtype == torch.bool:
            continue
        steps = x.stride()
        assert inplace(x, *given) is x and x.stride() == steps and x._version == 1
        assert _bits(x) == _bits(expected.to(x.dtype)), (name, dtype, shape, other, turned)
