"""All of torch's dtypes, compared with what torch says of them and does with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.core.dtype_cases import NAMES, TABLE

import torchcompat as torch
from autograd_tape import F, TensorRef
from autograd_tape.dtypes import DType
from autograd_tape.ops import RECORDS


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_few_calls_differ() -> None:
    calls = {case: found for case, found in TABLE.recorded.items() if isinstance(found, dict)}
    different = sum(found[e] != TABLE.recorded[case][e] for case, found in TABLE.differ.items() for e in found)
    assert different < 0.15 * sum(map(len, calls.values()))
    assert not any(case.startswith(("pairs", "written", "read")) for case in TABLE.differ)


def test_the_table_of_dtypes_is_torchs() -> None:
    assert sorted(DType.by_name) == sorted(NAMES) and len(DType.by_np) == len(NAMES)
    assert all(getattr(torch, name) is dtype and DType.by_np[dtype.np] is dtype for name, dtype in DType.by_name.items())


def test_unsigned_integers_are_computed_with_outside_torch() -> None:
    """As NumPy and the array API do; torch has kernels for few operations on them."""
    x = TensorRef.of(np.array([1, 2], "u2"))
    assert (x + x)._data.tolist() == [2, 4] and F.sort(x, 0, True)[0]._data.tolist() == [2, 1]
    with pytest.raises(NotImplementedError, match="\"add_stub\" not implemented for 'UInt16'"):
        torch.ones(2, dtype=torch.uint16) + 1


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "float16", "bfloat16", "float32", "complex32", "complex64"])
def test_what_a_result_says_it_is_its_memory_holds(dtype: str, excused: Callable[[str], None]) -> None:
    """Of every elementwise operation that takes the dtype: NumPy's functions have rules of their own."""
    x, seen = torch.ones(2, dtype=torch.complex64 if dtype.startswith("complex") else torch.float32).to(getattr(torch, dtype)), 0
    for name, record in RECORDS.items():
        count = {"unary": 1, "binary": 2}.get(record.family)
        if count is None or name.startswith("_"):
            continue
        try:
            result = getattr(torch, name)(*[x] * count)
        except (RuntimeError, NotImplementedError, TypeError, AttributeError) as error:
            excused(str(error))
            continue
        seen += 1
        assert not isinstance(result, torch.Tensor) or result._data.dtype == result._k.np, name
    assert seen > 5


@pytest.mark.parametrize("dtype", ["complex32", "float8_e4m3fn", "float8_e5m2", "bfloat16", "complex64"])
@pytest.mark.parametrize("index", [0, ..., slice(0, 1), [0], [True, False], "mask", "index"], ids=str)
def test_numbers_are_written_as_elements(dtype: str, index: object) -> None:
    """In dtypes that NumPy has no elements of, too."""
    kind = getattr(torch, dtype)
    value = 1 + 2j if kind.is_complex else 0.5
    x = torch.zeros(2, dtype=torch.complex64).to(kind) if kind.is_complex else torch.zeros(2).to(kind)
    own = {"mask": torch.tensor([True, False]), "index": torch.tensor([0])}.get(index, index) if isinstance(index, str) else index
    x[own] = value
    wide = x.to(torch.complex64 if kind.is_complex else torch.float32).tolist()
    assert wide == [value, value if index is ... else 0]
