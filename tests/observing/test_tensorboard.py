"""What is logged for TensorBoard, against what torch 2.13 writes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import torchcompat as torch
from tests.observing.tensorboard_cases import TABLE

pytest.importorskip("tensorboard", reason="tensorboard is missing: pip install tensorboard")


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


class _Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = torch.nn.Conv2d(1, 2, 3), torch.nn.Sequential(torch.nn.Linear(8, 3), torch.nn.ReLU(), torch.nn.Dropout())

    def forward(self, x: Any) -> Any:
        return self.fc(torch.relu(self.conv(x)).flatten(1)) * 2


def test_a_graph_has_the_operations_of_a_call_in_the_folders_of_its_modules() -> None:
    from torchcompat.utils.tensorboard._pytorch_graph import graph

    net = _Net().train()
    drawn, ran = graph(net, torch.ones(1, 1, 4, 4))
    nodes = {node.name: node for node in drawn.node}
    assert net.training and ran.step_stats.dev_stats[0].device == "/device:CPU:0"
    folders = [(node.op, node.name.rpartition("/")[0]) for node in drawn.node if node.op.startswith("aten::")]
    assert folders == [
        ("aten::_convolution", "_Net/Conv2d[conv]"), ("aten::relu", "_Net"), ("aten::flatten", "_Net"),
        ("aten::linear", "_Net/Sequential[fc]/Linear[0]"), ("aten::relu", "_Net/Sequential[fc]/ReLU[1]"),
        ("aten::dropout", "_Net/Sequential[fc]/Dropout[2]"), ("aten::mul", "_Net")]
    assert [name for name, node in nodes.items() if node.op == "prim::GetAttr"] == [
        "_Net/Conv2d[conv]/weight", "_Net/Conv2d[conv]/bias", "_Net/Sequential[fc]/Linear[0]/weight", "_Net/Sequential[fc]/Linear[0]/bias"]
    assert list(drawn.node[0].input) == [] and drawn.node[0].name == "input/x"
    assert all([name in nodes for node in drawn.node for name in node.input])
    end = nodes["output/output.1"]
    assert nodes[end.input[0]].op == "aten::mul" and [d.size for d in end.attr["_output_shapes"].list.shape[0].dim] == [1, 3]


def test_a_call_that_fails_gives_no_graph(capsys: pytest.CaptureFixture[str]) -> None:
    from torchcompat.utils.tensorboard._pytorch_graph import graph

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        graph(torch.nn.Linear(2, 2), torch.ones(1, 3))
    assert capsys.readouterr().out.endswith("Error occurs, No graph saved\n")


def test_without_the_package_its_absence_is_said() -> None:
    program = ("import sys; sys.modules['tensorboard'] = None\nimport torchcompat\n"
               "try: import torchcompat.utils.tensorboard\nexcept ImportError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "tensorboard" in done.stdout
