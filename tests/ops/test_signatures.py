"""The forms of call that torch takes besides those of the schemas: Python's number types as dtypes, `size=`, `view(dtype=)`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS

F, nn = torch.nn.functional, torch.nn

PYTHON = {int: torch.int64, float: torch.float64, bool: torch.bool, complex: torch.complex128}

# -- Python's number types ------------------------------------------------------------------------------------------

WITH_DTYPE = {
    **{name: (lambda dtype, name=name: getattr(torch, name)((2,), dtype=dtype)) for name in "zeros ones empty rand randn".split()},
    **{name: (lambda dtype, name=name: getattr(torch, name)(torch.ones(2), dtype=dtype))
       for name in "zeros_like ones_like empty_like rand_like randn_like".split()},
    **{name: (lambda dtype, name=name: getattr(torch.ones(2), name)((2,), dtype=dtype)) for name in "new_zeros new_ones new_empty".split()},
    "full": lambda dtype: torch.full((2,), 1, dtype=dtype),
    "full_like": lambda dtype: torch.full_like(torch.ones(2), 1, dtype=dtype),
    "new_full": lambda dtype: torch.ones(2).new_full((2,), 1, dtype=dtype),
    "empty_strided": lambda dtype: torch.empty_strided((2, 3), (3, 1), dtype=dtype),
    "eye": lambda dtype: torch.eye(2, dtype=dtype),
    "arange": lambda dtype: torch.arange(2, dtype=dtype),
    "linspace": lambda dtype: torch.linspace(0, 1, 2, dtype=dtype),
    "randint": lambda dtype: torch.randint(2, (2,), dtype=dtype),
    "randint_like": lambda dtype: torch.randint_like(torch.ones(2), 2, dtype=dtype),
    "randperm": lambda dtype: torch.randperm(3, dtype=dtype),
    "normal": lambda dtype: torch.normal(0., 1., (2,), dtype=dtype),
    "tensor": lambda dtype: torch.tensor([1, 0], dtype=dtype),
    "as_tensor": lambda dtype: torch.as_tensor([1, 0], dtype=dtype),
    "as_tensor of an array": lambda dtype: torch.as_tensor(np.ones(2), dtype=dtype),
    "asarray": lambda dtype: torch.asarray([1, 0], dtype=dtype),
    "asarray of a tensor": lambda dtype: torch.asarray(torch.ones(2), dtype=dtype),
    "asarray of bytes": lambda dtype: torch.asarray(bytearray(16), dtype=dtype),
    "scalar_tensor": lambda dtype: torch.scalar_tensor(1, dtype=dtype),
    "frombuffer": lambda dtype: torch.frombuffer(bytearray(16), dtype=dtype),
    "to": lambda dtype: torch.ones(2).to(dtype),
    "to, by keyword": lambda dtype: torch.ones(2).to("cpu", dtype=dtype),
    "view": lambda dtype: torch.zeros(4).view(dtype),
    "view, by keyword": lambda dtype: torch.zeros(4).view(dtype=dtype),
    "Linear": lambda dtype: nn.Linear(2, 2, dtype=dtype).bias,
    "Module.to": lambda dtype: nn.Linear(2, 2).to(dtype).bias,
}
TAKES = {**dict.fromkeys("rand randn rand_like randn_like normal Linear Module.to".split(), (float,)),
         **dict.fromkeys("arange linspace randperm".split(), (int, float)),
         **dict.fromkeys("randint randint_like".split(), (int, float, bool))}
"""Of those that do not take all of them, which they take."""


@pytest.mark.no_numbers("which arguments are taken")
@pytest.mark.parametrize("name", WITH_DTYPE)
def test_python_types_as_dtype(name: str) -> None:
    for python in TAKES.get(name, PYTHON):
        dtype = PYTHON[python]
        found = WITH_DTYPE[name](python)
        assert found.dtype is dtype and found.shape == WITH_DTYPE[name](dtype).shape


@pytest.mark.parametrize("name", [name for name, rec in RECORDS.items() if any(p.type == "dtype?" and p.name == "dtype" for p in rec.params)
                                  and rec.field("samples") is not None])
def test_operations_take_python_types(name: str) -> None:
    """Each operation with a dtype does the same for `float` as for float64."""
    rec = RECORDS[name]
    function = torch._tensor.frontend.function(name)
    for sample in list(rec.field("samples")(np.random.default_rng(0)))[:2]:
        def run(dtype: Any) -> Any:
            sources = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in getattr(sample, "args", sample)]
            torch.manual_seed(0)
            found = function(*sources, **{**getattr(sample, "kwargs", {}), "dtype": dtype})
            return found[0] if isinstance(found, tuple) else found

        try:
            expected = run(torch.float64)
        except (RuntimeError, NotImplementedError) as error:  # this operation has nothing to do with floats
            with pytest.raises(type(error)):
                run(float)
            continue
        found = run(float)
        assert found.dtype is expected.dtype is torch.float64 and found.shape == expected.shape
        if "empty" not in name:
            assert np.array_equal(found.numpy(), expected.numpy(), equal_nan=True)


def test_what_is_asked_of_python_types() -> None:
    assert torch.finfo(float).eps == torch.finfo(torch.float64).eps and torch.iinfo(int).max == 2**63 - 1
    assert torch.can_cast(int, float) and not torch.can_cast(torch.float32, int)
    assert torch.promote_types(int, torch.float32) is torch.float32 and torch.promote_types(bool, complex) is torch.complex128
    with pytest.raises(TypeError, match="requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"):
        torch.finfo(int)
    with pytest.raises(TypeError, match="requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"):
        torch.iinfo(float)
    with pytest.raises(TypeError, match="invalid dtype object: only floating-point types are supported as the default type"):
        torch.set_default_dtype(float)


@pytest.mark.no_numbers("which arguments are taken")
@pytest.mark.parametrize("name", WITH_DTYPE)
def test_what_is_no_dtype_is_refused(name: str) -> None:
    with pytest.raises(TypeError):
        WITH_DTYPE[name](str)


# -- size= and other keywords ---------------------------------------------------------------------------------------

SIZED = {
    **{name: getattr(torch, name) for name in "zeros ones empty rand randn".split()},
    **{name: getattr(torch.ones(1), name) for name in "new_zeros new_ones new_empty".split()},
    "full": lambda size: torch.full(size=size, fill_value=1.), "new_full": lambda size: torch.ones(1).new_full(size=size, fill_value=1),
    "randint": lambda size: torch.randint(3, size=size), "randint from": lambda size: torch.randint(1, 3, size=size),
    "randint high": lambda size: torch.randint(high=3, size=size),
    "randint low, high": lambda size: torch.randint(low=1, high=3, size=size),
    "normal": lambda size: torch.normal(0., 1., size=size), "empty_strided": lambda size: torch.empty_strided(size=size, stride=(3, 1)),
    "new_empty_strided": lambda size: torch.ones(1).new_empty_strided(size=size, stride=(3, 1)),
    "view": torch.ones(6).view,
}


@pytest.mark.no_numbers("which arguments are taken")
@pytest.mark.parametrize("name", SIZED)
def test_size_by_keyword(name: str) -> None:
    assert [SIZED[name](size=size).shape for size in ((2, 3), [2, 3], torch.Size([2, 3]))] == [(2, 3)] * 3


@pytest.mark.no_numbers("which arguments are taken")
@pytest.mark.parametrize("name", ["rand", "randn"])
def test_sizes_given_twice_to_what_has_several_signatures(name: str) -> None:
    for call, got in ((lambda: SIZED[name](2, size=(2,)), "int, size=tuple"), (lambda: SIZED[name](2, sizes=(2,)), "int, sizes=tuple")):
        with pytest.raises(TypeError) as error:
            call()
        assert str(error.value).startswith(f"{name}() received an invalid combination of arguments - got ({got})")
    with pytest.raises(TypeError) as error:
        SIZED[name](sizes=(2,))
    assert str(error.value) == f'{name}() missing 1 required positional arguments: "size"'


@pytest.mark.no_numbers("which arguments are taken")
@pytest.mark.parametrize("name", "zeros ones empty new_zeros new_ones new_empty".split())
def test_sizes_given_twice(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\) got multiple values for argument 'size'"):
        SIZED[name](2, size=(2,))
    with pytest.raises(TypeError, match=rf"{name}\(\) missing 1 required positional arguments: \"size\""):
        SIZED[name](sizes=(2,))


def test_bounds_by_keyword() -> None:
    for call in (lambda: torch.randint_like(torch.ones(9), 3), lambda: torch.randint_like(torch.ones(9), high=3),
                 lambda: torch.randint_like(torch.ones(9), low=0, high=3)):
        torch.manual_seed(0)
        expected = torch.randint(3, (9,))
        torch.manual_seed(0)
        assert call().tolist() == expected.tolist()
    for bad in (lambda: torch.randint(3), lambda: torch.randint(size=(2,)), lambda: torch.randint_like(torch.ones(2))):
        with pytest.raises(TypeError, match="received an invalid combination of arguments"):
            bad()


def test_view_by_keyword() -> None:
    x = torch.tensor([1., -1.], requires_grad=True)
    assert x.view(dtype=torch.int32).tolist() == [0x3F800000, 0xBF800000 - (1 << 32)]
    assert not x.view(dtype=torch.float32).requires_grad and not x.view(torch.int32).requires_grad  # bytes have no derivative
    with pytest.raises(RuntimeError, match="must be divisible by 2 to view Float as Double"):
        torch.ones(3).view(dtype=torch.float64)
    for bad in (3, "float32x", (2,)):
        with pytest.raises(TypeError):
            x.view(dtype=bad)


# -- padding that cuts off ------------------------------------------------------------------------------------------


def _position(mode: str, at: int, n: int) -> int:
    return min(max(at, 0), n - 1) if mode == "replicate" else -at if at < 0 else 2 * (n - 1) - at if at >= n else at


@pytest.mark.parametrize("mode", ["replicate", "reflect"])
def test_every_padding_of_four(mode: str) -> None:
    """Positions count from the ends of the whole tensor, also where the other end is cut off; gradients count the copies."""
    for before in range(-6, 4):
        for after in range(-6, 4):
            n, x = 4, torch.arange(8.).reshape(2, 4).requires_grad_()
            if n + before + after < 1:
                with pytest.raises(RuntimeError, match=rf"input \(W: 4\) is too small. Calculated output W: {n + before + after}$"):
                    F.pad(x, (before, after), mode)
                continue
            at = [_position(mode, i, n) for i in range(-before, n + after)]
            padded = F.pad(x, (before, after), mode)
            assert padded.tolist() == [at, [4 + i for i in at]]
            padded.sum().backward()
            assert x.grad.tolist() == [[at.count(i) for i in range(n)]] * 2


def test_padding_of_two_dimensions() -> None:
    x = torch.arange(16.).reshape(1, 4, 4).requires_grad_()
    padded = F.pad(x, (5, -4, -4, 3), "replicate")
    assert padded.tolist() == [[[12.] * 5] * 3]
    padded.sum().backward()
    assert x.grad.sum() == x.grad[0, 3, 0] == 15


@pytest.mark.parametrize("mode", ["replicate", "reflect"])
def test_nothing_to_pad(mode: str) -> None:
    assert F.pad(torch.ones(0, 2, 3), (1, 1), mode).shape == (0, 2, 5)
    for shape in ((2, 3, 0), (2, 0, 3)):
        with pytest.raises(RuntimeError, match=r"Expected 2D or 3D \(batch mode\) tensor with possibly 0 batch size and other non-zero"):
            F.pad(torch.ones(shape), (1, 1), mode)


def test_circular_padding_of_nothing() -> None:
    with pytest.raises(RuntimeError, match="leaves nothing of dimension 2 to repeat"):
        F.pad(torch.ones(5, 6, 4), (-4, 3), "circular")
