"""What records change in place in one pass gives what the operation gives, in all dtypes that the kernels take."""

from __future__ import annotations

import itertools
import math
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
    change, x = RECORDS["neg"].field("changes")[0], torch.full((4, 6), 1.5)
    assert not changed(change, x._k, 1, x[:, ::2]._data)
    by_other = RECORDS["add"].field("changes")[1]
    assert not changed(by_other, x._k, 1, x._data, torch.ones(1, 4, 6)._data) and not changed(by_other, x._k, 1e30, x._data, x._data)
    assert x.unique().tolist() == [1.5]


@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "log", "sinh", "cosh", "atanh", "acosh"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_that_rest_have_the_bits_of_those_that_move(kept: None, name: str, dtype: torch.dtype) -> None:
    few = torch.tensor([math.inf, 0.5, -math.inf, 1.5, math.nan, -0.0], dtype=dtype)
    for n, rows in (1000, 1), (70000, 7):
        for x in few.repeat(n).reshape(rows, -1), few[:1].repeat(6 * n), few[1:2].repeat(6 * n):
            for y in x, x.mT.contiguous().mT if x.ndim > 1 else x.clone():
                expected = getattr(torch, name)(y)
                assert _bits(getattr(y.clone(), name + "_")()) == _bits(expected)


@pytest.mark.parametrize("name", ["sub", "gt", "logical_xor", "addcmul"])
@pytest.mark.parametrize("shape", [(7, 11), (81, 123), (700, 1100)])
def test_operands_in_another_order(kept: None, name: str, shape: tuple[int, int]) -> None:
    x, y, z = (torch.arange(float(shape[0] * shape[1])).reshape(shape) % k for k in (7, 5, 3))
    beside = [y, z][: 1 + (name == "addcmul")]
    expected = getattr(torch, name)(x, *beside).float()
    for turned in x.mT.contiguous().mT, x.clone():
        others = [b if turned.is_contiguous() is False else b.mT.contiguous().mT for b in beside]
        assert _bits(getattr(turned, name + "_")(*others)) == _bits(expected)


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


def _given_by(function: Any, *args: Any) -> Any:
    """What a function gives; None where there is none of the dtype."""
    try:
        return function(*args)
    except (RuntimeError, NotImplementedError):
        return None


@pytest.mark.parametrize("dtype", (*DTYPES, "int64", "bool"))
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_written_over_is_what_the_operation_gives(name: str, dtype: str, kept: None) -> None:
    """By methods, in rows and columns, with operands that are broadcast, and with numbers."""
    rng, rec = np.random.default_rng(0), RECORDS[name]
    function, inplace = getattr(torch, name), getattr(torch.Tensor, f"{name}_")
    cases: list[tuple[tuple[int, ...], Any]] = [((81, 123), options) for options in OPTIONS.get(name, [()])]
    if len(rec.tensor_params) > 1:
        cases = [(shape, other) for shape, other in BROADCAST]
        cases += [((81, 123), number) for number in (2, -0.0, 0.5, -1)] if rec.params[1].type == "Operand" else []
    for (shape, other), turned in itertools.product(cases, (False, True)):
        x = _of(rng, dtype, shape, turned)
        given = other if len(rec.tensor_params) == 1 else (other if isinstance(other, (int, float)) else _of(rng, dtype, other, False),)
        expected = _given_by(function, x, *given)
        if expected is None or expected.dtype is not x.dtype and not expected.dtype == torch.bool:
            continue
        steps = x.stride()
        assert inplace(x, *given) is x and x.stride() == steps and x._version == 1
        assert _bits(x) == _bits(expected.to(x.dtype)), (name, dtype, shape, other, turned)


@pytest.mark.parametrize("n", [6, 30000])
def test_a_source_in_the_same_memory_is_read_before_it_is_written(n: int, kept: None) -> None:
    y, mask = torch.arange(float(n)) + 1, torch.arange(n) % 3 > 0
    expected = y.masked_scatter(mask, y.clone())
    for _ in range(3):  # before and after machine code is at hand
        x = y.clone()
        assert x.masked_scatter_(mask, x) is x and _bits(x) == _bits(expected)


def test_few_are_looked_for_in_the_common_dtype() -> None:
    found = torch.isin(torch.tensor([2**53 + 1, 1, 0]), torch.tensor([2.0**53, 3.0], dtype=torch.float64))
    assert found.tolist() == [True, False, False]
    assert not torch.isin(torch.arange(5), torch.tensor([], dtype=torch.int64)).any()


@pytest.mark.parametrize("options", [(0.0, -math.inf, 5.0), (0.0, math.nan, 5.0), (3.0, 2.0, math.nan), (-0.0, 1.0, 2.0)])
def test_what_replaces_is_not_replaced_in_turn(options: tuple[float, ...], kept: None) -> None:
    x = torch.tensor([math.inf, -math.inf, math.nan, 1.0]).repeat(2000)
    expected = [options[1], options[2], options[0], 1.0]
    for _ in range(3):
        assert _bits(x.clone().nan_to_num_(*options)) == _bits(torch.tensor(expected).repeat(2000)) == _bits(x.nan_to_num(*options))


@pytest.mark.parametrize("name", ["ne", "gt", "logical_xor", "eq"])
def test_an_operand_in_the_same_memory_is_read_before_it_is_written(name: str, kept: None) -> None:
    """One that has the memory by `data`, and so no version in common."""
    for dtype in (torch.float32, torch.bfloat16):
        x = (torch.arange(24000) % 7 - 3).to(dtype).reshape(60, 400)
        expected = getattr(torch, name)(x, x.data[0].clone()).to(dtype)
        for _ in range(3):
            y = x.clone()
            getattr(y, name + "_")(y.data[0])
            assert _bits(y) == _bits(expected)


def test_clamp_refuses_a_bound_of_which_it_would_read_what_is_written() -> None:
    x = torch.arange(6400.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x.clamp_(min=x.data[5])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["addcmul", "addcdiv", "lerp"])
def test_two_operands_that_are_broadcast(name: str, dtype: str, kept: None) -> None:
    rng = np.random.default_rng(0)
    for turned, first, second in itertools.product((False, True), ((40, 1), (31,), (40, 31)), ((31,), (40, 1), (1, 1))):
        x, y, z = _of(rng, dtype, (40, 31), turned), _of(rng, dtype, first, False), _of(rng, dtype, second, False)
        expected = getattr(torch, name)(x, y, z)
        for _ in range(2):
            found, steps = x.clone(), x.stride()
            getattr(found, name + "_")(y, z)
            assert _bits(found) == _bits(expected) and found.stride() == steps
        with pytest.raises(RuntimeError, match="shape"):
            getattr(x, name + "_")(y[None, None].expand(2, 1, *y.shape), z)


@pytest.mark.parametrize("n", [6, 3000])
@pytest.mark.parametrize("name", ["addcmul", "addcdiv", "lerp"])
def test_operands_in_the_memory_beside_are_read_before_it_is_written(name: str, n: int, kept: None) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        memory = (torch.arange(n + 1) % 7 + 1).to(dtype)
        x, before, other = memory[1:], memory.data[:-1], torch.full((n,), 3).to(dtype)
        expected = getattr(torch, name)(x.clone(), before.clone(), other)
        assert _bits(getattr(x, name + "_")(before, other)) == _bits(expected)


OF_ONE = [name for name, rec in RECORDS.items() if hasattr(torch, name) and hasattr(torch.Tensor, f"{name}_") and rec.family == "unary"
          and rec.quiet != "none" and name not in ("bitwise_not", "relu", "clamp") and all(p.default is not None for p in rec.params[1:])]


@pytest.mark.parametrize("name", OF_ONE)
def test_a_function_of_one_number_in_place_is_what_it_is_elsewhere(name: str, kept: None) -> None:
    """Of few numbers and of many, in rows and columns, and once machine code is at hand."""
    rng, function, inplace = np.random.default_rng(0), getattr(torch, name), getattr(torch.Tensor, f"{name}_")
    for dtype, shape in itertools.product(DTYPES, ((), (2, 3), (40, 31))):
        x = _numbers(rng, dtype, shape) if shape else torch.tensor(0.75).to(getattr(torch, dtype))
        expected = function(x).to(x.dtype)
        for target in (x.clone(), x.mT.contiguous().mT if shape else x.clone()):
            for _ in range(2):
                found, steps = target.copy_(x), target.stride()
                assert inplace(found) is found and found.stride() == steps
                assert _bits(found) == _bits(expected), (name, dtype, shape, steps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_angles_of_denormal_numbers(dtype: torch.dtype, kept: None) -> None:
    rng = np.random.default_rng(0)
    small = np.where(rng.random(5000) < 0.5, 2.0 ** rng.integers(-133, -120, 5000), rng.standard_normal(5000))
    y, x = torch.tensor(small).to(dtype), torch.tensor(np.where(rng.random(5000) < 0.5, small, rng.standard_normal(5000))).to(dtype)
    few = torch.cat([torch.atan2(y[i : i + 50], x[i : i + 50]) for i in range(0, 5000, 50)])
    assert torch.equal(torch.atan2(y, x), few)
    assert torch.equal(y.clone().atan2_(x), few)


@pytest.mark.parametrize("shapes", [((700, 3), (3,), (700, 1)), ((700, 3), (700, 1), (700, 3)), ((90, 2, 5), (90, 1, 5), (2, 5)),
                                    ((40, 300, 2), (300, 1), (40, 1, 2)), ((900, 4), (1,), (4,))])
@pytest.mark.parametrize("name", ["addcmul_", "addcdiv_", "lerp_"])
def test_two_operands_beside_short_lines(name: str, shapes: tuple[tuple[int, ...], ...], kept: None) -> None:
    rng = np.random.default_rng(0)
    x, a, b = [torch.tensor(rng.uniform(0.5, 2, shape)) for shape in shapes]
    wanted = getattr(x.clone(), name)(a.expand(x.shape).clone(), b.expand(x.shape).clone())
    assert torch.equal(getattr(x.clone(), name)(a, b), wanted)
