"""Exported programs against torch's: their text, what they compute, and what they refuse."""

from __future__ import annotations

import pytest

import torchcompat as torch

from .export_cases import TABLE
from .sizes_cases import TABLE as SIZES


@pytest.mark.parametrize("case", TABLE.recorded)
def test_programs(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize("case", [case for case in TABLE.recorded if "error" not in TABLE.recorded[case]])
def test_programs_compute_what_torchs_do(case: str) -> None:
    found, expected = TABLE.found(torch, case), TABLE.recorded[case]
    assert not TABLE.difference(expected["call"], found["call"], case)
    assert found["state"] == expected["state"] and found["as it was"] == expected["as it was"]
    assert "error" in expected["call"] or not TABLE.difference(expected["inner call"], found["inner call"], case)


def test_what_was_decided_stays_decided() -> None:
    program = torch.export.export(torch.nn.Dropout().eval(), (torch.ones(3),))
    with pytest.raises(NotImplementedError, match=r"Calling train\(\) is not supported yet."):
        program.module().train()
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(torch.ones(3))


def test_random_numbers_are_as_if_nothing_had_run() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    torch.export.export(torch.nn.Dropout(), (torch.ones(3),)).run_decompositions()
    assert torch.equal(before, torch.get_rng_state())


def test_gradients_flow_into_the_state() -> None:
    model = torch.nn.Linear(3, 2)
    program = torch.export.export(model, (torch.ones(1, 3),))
    program.module()(torch.ones(1, 3)).sum().backward()
    assert model.weight.grad is not None and bool((model.weight.grad == 1).all())


@pytest.mark.parametrize("case", SIZES.recorded)
def test_programs_for_several_sizes(case: str) -> None:
    SIZES.assert_as_torch(torch, case)
