"""Profiles: what they show of operations, of what makes tensors, of memory and of the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torchcompat as torch
from autograd_tape import calls, modes
from tests.observing.profiler_cases import TABLE
from torchcompat.autograd.profiler import profile


def names(function: Any, **options: Any) -> list[str]:
    with profile(**options) as p:
        function()
    return [e.name.removeprefix("aten::") for e in p.function_events]


@pytest.mark.parametrize(("function", "expected"), [  # as torch 2.13 shows them
    (lambda: torch.ones(2), ["ones", "empty", "fill_"]), (lambda: torch.zeros(2, 3), ["zeros", "empty", "zero_"]),
    (lambda: torch.empty(2), ["empty"]), (lambda: torch.rand(2), ["rand", "empty", "uniform_"]),
    (lambda: torch.randn(2), ["randn", "empty", "normal_"]), (lambda: torch.empty_strided((2,), (1,)), ["empty_strided"]),
    (lambda: torch.ones(1).item(), ["ones", "empty", "fill_", "item", "_local_scalar_dense"]),
    (lambda: bool(torch.empty(1)), ["empty", "is_nonzero", "item", "_local_scalar_dense"]),
    (lambda: torch.empty(2).exp(), ["empty", "exp"]), (lambda: torch.empty(2, requires_grad=True).detach(), ["empty", "detach"]),
])
def test_what_makes_a_tensor_shows_its_steps(function: Any, expected: list[str]) -> None:
    assert names(function) == expected


@pytest.mark.parametrize("make", [
    lambda: torch.ones(2, 3, dtype=torch.int64), lambda: torch.zeros((2,), requires_grad=True),
    lambda: torch.rand(3, 2, dtype=torch.double),
    lambda: torch.randn(20), lambda: torch.ones_like(torch.empty(2, 3).t()), lambda: torch.randn(2).new_zeros(3),
    lambda: torch.rand(2, generator=torch.Generator().manual_seed(1)), lambda: torch.ones(2, out=torch.empty(2)),
])
def test_what_is_made_is_the_same(make: Any) -> None:
    torch.manual_seed(0)
    expected = make()
    torch.manual_seed(0)
    with profile():
        found = make()
    assert torch.equal(found, expected) and (found.dtype, found.stride(), found.requires_grad) == (
        expected.dtype, expected.stride(), expected.requires_grad)


def test_only_operations_that_are_recorded_have_numbers() -> None:
    with profile() as p:
        x = torch.randn(10, 10, requires_grad=True)
        (x + x).sum().backward()
    numbers = {e.name: e.sequence_nr for e in p.function_events}
    assert numbers["aten::empty"] == -1 and numbers["aten::add"] >= 0
    assert numbers["AddBackward0"] == numbers["aten::add"] and numbers["SumBackward0"] == numbers["aten::sum"]


def test_memory_is_counted_once() -> None:
    with profile(profile_memory=True) as p:
        x = torch.ones(100, 100)
        x + x
        x.add_(1)
        x.t()
    found = [(e.name, e.cpu_memory_usage, e.self_cpu_memory_usage) for e in p.function_events]
    assert found == [("aten::ones", 40000, 0), ("aten::empty", 40000, 40000), ("aten::fill_", 0, 0), ("aten::add", 40000, 40000),
                     ("aten::add_", 0, 0), ("aten::t", 0, 0)]
    assert "CPU Mem" in p.table() and "39.06 KB" in p.table()
    average = next(a for a in p.key_averages() if a.key == "aten::empty")
    assert (average.cpu_memory_usage, average.self_cpu_memory_usage) == (40000, 40000)


def test_stacks_lead_to_the_program() -> None:
    def here() -> Any:
        return torch.ones(2) + 1

    with profile(with_stack=True) as p:
        here()
        torch.ones(2) + 1
    for e in p.function_events:
        assert "test_profiler.py" in e.stack[0]
    assert p.function_events[-1].stack[0].endswith("test_stacks_lead_to_the_program") and "Source Location" in p.table()
    assert len([a for a in p.key_averages(group_by_stack_n=1) if a.key == "aten::add"]) == 2
    with profile() as p:
        here()
    assert p.function_events[0].stack == [] and "Source Location" not in p.table() and "CPU Mem" not in p.table()


def test_nothing_is_left_when_the_profiler_is_off() -> None:
    before = modes.loudness(), list(calls.LISTENING)
    with profile():
        torch.ones(2)
    assert (modes.loudness(), calls.LISTENING) == before


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_blocks_and_nodes_count_the_memory_made_in_them() -> None:
    with torch.profiler.profile(profile_memory=True, record_shapes=True) as p:
        x = torch.ones(4, 4, requires_grad=True)
        with torch.profiler.record_function("block"):
            y = x.exp()
        y.backward(torch.ones(4, 4))
    found = {e.name: e for e in p.events()}
    assert found["block"].cpu_memory_usage == 64 and found["block"].self_cpu_memory_usage == 0
    assert found["ExpBackward0"].cpu_memory_usage == 64 and found["ExpBackward0"].input_shapes == [[4, 4]]


def test_stacks_are_written_for_flame_graphs(tmp_path: Path) -> None:
    with torch.profiler.profile(with_stack=True) as p:
        x = torch.ones(200, 200, requires_grad=True)
        (x @ x).sum().backward()
    p.export_stacks(str(tmp_path / "stacks"), "self_cpu_time_total")
    lines = (tmp_path / "stacks").read_text().splitlines()
    assert lines and all(["test_stacks_are_written_for_flame_graphs" in line and int(line.rpartition(" ")[2]) > 0 for line in lines])
    backward = next(e for e in p.events() if e.name == "MmBackward0")
    assert backward.stack == next(e for e in p.events() if e.name == "aten::matmul").stack


def test_optimizers_name_their_steps() -> None:
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.1)
    with torch.profiler.profile() as p:
        w.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert [e.name for e in p.events() if e.is_user_annotation] == ["Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"]
