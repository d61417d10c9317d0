"""Graphs against torch's: text, code, errors."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import torchcompat as torch
import torchcompat.nn.functional as F
from torchcompat import fx

from .fx_cases import TABLE


def lifted(a: Any, b: Any) -> Any:
    return a[0] + a[1] + b


fx.wrap("lifted")


@pytest.mark.parametrize("case", TABLE.recorded)
def test_programs(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_wrapped_functions_are_single_nodes_and_themselves_again_afterwards() -> None:
    real = lifted
    traced = fx.symbolic_trace(lambda y: lifted((4, y), 3) + lifted((3, 4), 5) + lifted((y, y), y))
    assert lifted is real and 'test_fx_lifted")' in traced.code
    assert traced(2) == 27


def test_a_failed_trace_leaves_modules_as_they_were() -> None:
    before = torch.nn.Module.__dict__["__call__"], torch.nn.Module.__dict__["__getattr__"]
    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        fx.symbolic_trace(lambda x: 1 if x else 2)
    assert (torch.nn.Module.__dict__["__call__"], torch.nn.Module.__dict__["__getattr__"]) == before


def test_gradients_flow_through_generated_code() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    traced = fx.symbolic_trace(model)
    x = torch.randn(5, 3)
    traced(x).sum().backward()
    grads = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).sum().backward()
    assert all([torch.equal(p.grad, g) for p, g in zip(model.parameters(), grads)])


def test_an_error_in_generated_code_shows_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    traced = fx.symbolic_trace(lambda x: x / 1)
    traced(1)
    with pytest.raises(ZeroDivisionError):
        fx.symbolic_trace(lambda x: 1 / x)(0)
    shown = capsys.readouterr().err
    assert "Call using an FX-traced Module, line 5" in shown and "truediv = 1 / x" in shown.split("<--- HERE")[0]


def test_a_folder_is_a_package_of_the_module(tmp_path: Path) -> None:
    from torchcompat import dropin

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Softmax(dim=1))
    traced = fx.symbolic_trace(model)
    with pytest.warns(UserWarning, match="saved as pickled files instead"):
        fx.GraphModule({"0": model[0], "soft": model[1]}, _renamed(traced)).to_folder(tmp_path / "made", "Made")
    installed = "torch" in sys.modules
    dropin.install()
    try:
        folder = tmp_path / "made"
        spec = importlib.util.spec_from_file_location("made", folder / "__init__.py", submodule_search_locations=[str(folder)])
        assert spec is not None and spec.loader is not None
        package = sys.modules["made"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
        x = torch.ones(1, 2)
        assert torch.equal(package.Made()(x), model(x))
    finally:
        sys.modules.pop("made", None)
        if not installed:
            dropin.uninstall()


def _renamed(traced: Any) -> Any:
    for node in traced.graph.nodes:
        if node.op == "call_module" and node.target == "1":
            node.target = "soft"
    return traced.graph


def test_stack_traces_lead_to_the_program() -> None:
    class Noting(fx.Tracer):
        record_stack_traces = True

    def program(x: Any) -> Any:
        return torch.relu(x) + F.softmax(x, dim=0)

    graph = Noting().trace(program)
    assert all(["in program" in node.stack_trace for node in graph.nodes if node.op == "call_function"])
    assert "torch.relu(x)" in graph.find_nodes(op="call_function", target=torch.relu)[0].stack_trace
