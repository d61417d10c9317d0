"""torch.masked is torch's."""

from __future__ import annotations


import subprocess
import sys

import pytest
import torchcompat as torch
from tests.core.masked_cases import TABLE


@pytest.mark.parametrize("name", TABLE.recorded)
def test_equals_torch(name: str) -> None:
    TABLE.assert_as_torch(torch, name)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", ["get_data", "sum", "softmax", "amax"])
def test_passes_run_on_tensors_only_while_a_function_of_a_dispatching_class_lives(call: str) -> None:
    from torchcompat.autograd import engine

    before = engine._on_tensors
    x = torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]), True)
    y = getattr(x, call)(*[0] * (call == "softmax"))
    assert engine._on_tensors > before
    del y
    assert engine._on_tensors == before


def test_products_of_a_number_along_its_only_dimension() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.int8):
        for dim in (0, -1):
            assert torch.tensor(2, dtype=dtype).prod(dim=dim).item() == 2


def test_is_imported_at_first_use() -> None:
    code = "import sys, torchcompat; print('torchcompat.masked' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "False\n"
