"""Arguments of wrong types against torch: what it refuses is not computed, and the other way round."""

from __future__ import annotations

from typing import Any

import pytest
from tests.ops.wrong_cases import TABLE

import torchcompat as torch



def test_few_calls_differ() -> None:
    assert sum(found == "refused" for found in TABLE.recorded.values()) > 0.6 * len(TABLE.recorded) > 5000
    assert len(TABLE.differ) < 0.03 * len(TABLE.recorded)


@pytest.mark.parametrize(("call", "text"), [
    ("torch.softmax(x, (0, 1))", "softmax(): argument 'dim' (position 2) must be int, not tuple"),
    ("torch.softmax(x, 1.0)", "softmax(): argument 'dim' (position 2) must be int, not float"),
    ("torch.softmax(x, True)", "softmax(): argument 'dim' (position 2) must be int, not bool"),
    ("torch.log_softmax(x, (0, 1))", "log_softmax(): argument 'dim' (position 2) must be int, not tuple"),
    ("torch.aminmax(x, dim=(0, 1))", "aminmax(): argument 'dim' must be int, not tuple"),
    ("torch.argmax(x, 1, None)", "argmax(): argument 'keepdim' (position 3) must be bool, not NoneType"),
])
def test_words(call: str, text: str) -> None:
    with pytest.raises(TypeError) as error:
        eval(call, {"torch": torch, "x": torch.ones(2, 3)})
    assert str(error.value) == text


@pytest.mark.parametrize(("call", "kernel"), [
    ("x < 1j", "lt_cpu"), ("x <= 1j", "le_cpu"), ("1j < x", "gt_cpu"), ("x.lt_(1j)", "lt_cpu"),
    ("i > 1j", "gt_cpu"), ("x // 1j", "div_floor_cpu"),
    ("x % 1j", "remainder_cpu"), ("i & 1j", "bitwise_and_cpu"), ("i << 1j", "lshift_cpu"), ("torch.fmod(x, 1j)", "fmod_cpu"),
    ("torch.copysign(x, 1j)", "copysign_cpu"), ("torch.div(x, 1j, rounding_mode='floor')", "div_floor_cpu"),
])
def test_complex_numbers_are_refused_where_complex_tensors_are(call: str, kernel: str) -> None:
    with pytest.raises(NotImplementedError) as error:
        eval(call, {"torch": torch, "x": torch.ones(2), "i": torch.tensor([1, 2])})
    assert str(error.value) == f"\"{kernel}\" not implemented for 'ComplexFloat'"


def test_old_constructors() -> None:
    size: Any = torch.Size([2, 3])
    for name in ("FloatTensor", "LongTensor", "BoolTensor", "Tensor"):
        make = getattr(torch, name)
        assert make(size).shape == make(2, 3).shape == make(size=(2, 3)).shape == size
        assert make(torch.Size([])).shape == () and make([1, 0]).shape == (2,) and make().shape == (0,)
        assert make(make([1, 0]).storage()).shape == (2,)
    assert torch.LongTensor(size).dtype is torch.int64
    with pytest.raises(TypeError, match="expected TensorOptions"):
        torch.FloatTensor(torch.LongTensor([1]))
    with pytest.raises(TypeError, match=r"new\(\): data must be a sequence \(got float\)"):
        torch.FloatTensor(2.5)


@pytest.mark.parametrize(("python", "dtype"), [(int, "int64"), (float, "float64"), (bool, "bool"), (complex, "complex128")])
def test_numbers_types_are_dtypes(python: Any, dtype: str) -> None:
    x = torch.ones(2)
    made = [torch.tensor([1, 0], dtype=python), x.to(python), x.to(dtype=python), x.to("cpu", python), torch.as_tensor([1], dtype=python),
            torch.zeros(2, dtype=python), torch.zeros_like(x, dtype=python)]
    assert {str(t.dtype) for t in made} == {f"torch.{dtype}"}
    with pytest.raises(TypeError, match="argument 'dtype' must be torch.dtype, not type"):
        torch.tensor([1], dtype=str)


def test_sizes_and_dimensions_by_name() -> None:
    assert torch.rand(size=(2, 3)).shape == torch.randn(size=(2, 3)).shape == (2, 3)
    assert torch.roll(torch.arange(3), 1, None).tolist() == torch.arange(3).roll(1).tolist() == [2, 0, 1]
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.rand(3, size=(2,))
