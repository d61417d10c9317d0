"""Compiling against torch's: what functions and modules become, and what compilers are given."""

from __future__ import annotations

import pytest

import torchcompat as torch

from .compile_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_programs(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_one_graph_where_one_is_asked_for() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x

    with pytest.raises(torch._dynamo.exc.Unsupported, match="Data-dependent"):
        torch.compile(f, backend=lambda module, given: module.forward, fullgraph=True)(torch.ones(1))


def test_a_program_that_ends_its_graph_is_carried_out_once() -> None:
    done = []

    def f(x: torch.Tensor) -> torch.Tensor:
        done.append(1)
        x.mul_(2)
        return x if x.sum() > 0 else -x

    x = torch.ones(2)
    y = torch.compile(f, backend=lambda module, given: module.forward)(x)
    assert done == [1] and x.tolist() == [2, 2] == y.tolist()


def test_explain_tells_the_graphs() -> None:
    found = torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(1))
    assert (found.graph_count, found.op_count, found.graph_break_count) == (1, 2, 0)
    assert torch._dynamo.explain(lambda x: x.item())(torch.ones(1)).graph_break_count == 1
