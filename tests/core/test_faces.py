"""Each public name of an operation is a function of its own where torch has it so, and who listens is told by which one it was called."""

from __future__ import annotations

import copy
import pickle

import pytest
from tests.core.face_cases import SAME, SHOWN

import torchcompat as torch


@pytest.mark.no_numbers("which functions are the same")
def test_the_same_functions_as_in_torch() -> None:
    SAME.assert_as_torch(torch, *SAME.recorded)


@pytest.mark.no_numbers("which functions are shown")
def test_shown_as_in_torch() -> None:
    SHOWN.assert_as_torch(torch, *SHOWN.recorded)
    assert len(SHOWN.differ) < 12


@pytest.mark.parametrize("name", ["clip", "Tensor.clip", "linalg.det", "Tensor.add_", "Tensor.__add__", "nn.functional.relu",
                                  "Tensor.reshape"])
def test_a_face_is_found_again(name: str) -> None:
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    assert function.__name__ in name
    assert copy.deepcopy(function) is function
    if not name.endswith("__"):
        assert pickle.loads(pickle.dumps(function)) is function


def test_a_method_that_calls_the_function_of_its_name() -> None:
    """As classes of MONAI do, whose `__torch_function__` calls the function that it was shown."""
    class Named(torch.Tensor):
        def clip(self, *args: float) -> torch.Tensor:
            return torch.clip(self, *args) + 1

    assert torch.equal(torch.tensor([-2., 2.]).as_subclass(Named).clip(-1., 1.).as_subclass(torch.Tensor), torch.tensor([0., 2.]))
