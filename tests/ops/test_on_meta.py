"""Operations on meta tensors of every dtype against torch: which dtypes are taken, dtypes, shapes and strides of results."""

from __future__ import annotations

import pytest
from tests.ops.meta_cases import TABLE
from tests.ops.public_calls import DTYPES

import torchcompat as torch

INNER = ("AttributeError", "NameError", "UnboundLocalError", "RecursionError", "SystemError", "MemoryError")


def test_differences_are_few_and_no_failures_of_ours() -> None:
    assert len(TABLE.differ) < 0.14 * len(TABLE.recorded)
    assert not [call for call, found in TABLE.differ.items() if any(name in found for name in INNER)]


def test_every_dtype_was_recorded() -> None:
    assert len(TABLE.recorded) > 800
    assert all(dtype in found for found in TABLE.recorded.values() for dtype in DTYPES)


def test_kernels_refusals_are_not_those_of_meta_tensors() -> None:
    """What only a kernel refuses on the CPU is taken on meta."""
    for name, dtype in (("erfinv", "complex64"), ("bitwise_and", "float32"), ("trunc", "bool"), ("mish", "int64"), ("sort", "complex64")):
        x = torch.ones(2, 3, dtype=getattr(torch, dtype))
        function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
        args = (x, x) if name == "bitwise_and" else (x,)
        with pytest.raises((NotImplementedError, RuntimeError)):
            function(*args)
        result = function(*[a.to("meta") for a in args])
        assert (result[0] if isinstance(result, tuple) else result).shape == (2, 3)


@pytest.mark.parametrize("shape", [(3, 4), (1 << 20, 1 << 15), (5 * 10**8, 10**9), (5 * 10**5, 10**6, 10**6)])
@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16", "complex128"])
def test_elements_of_meta_tensors_are_not_read(shape: tuple[int, ...], dtype: str) -> None:
    """Neither where there is memory behind them nor where the address space has no room for it."""
    x = torch.empty(shape, dtype=getattr(torch, dtype), device="meta")
    last = tuple(n - 1 for n in shape)
    rest = (1,) * (len(shape) - 1)
    for element in (x[last], x[-1][rest], x[(..., *last)], x[(None, *last)][0], x.select(0, 1)[rest]):
        assert element.shape == () and element.device.type == "meta"
        for read in (torch.Tensor.item, torch.Tensor.tolist, torch.Tensor.numpy, bool, float):
            with pytest.raises((RuntimeError, TypeError, NotImplementedError)):
                read(element)
