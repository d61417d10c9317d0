"""Nodes are called what torch calls them, and show what they saved by torch's names.

`nodes_differ.json` says where they do not: from reason to operations. The tests hold it to exactly what is seen; after a change,
``python -m tests.autograd.test_nodes`` prints what no longer holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.autograd import node_cases as nodes
import pytest
from tests.oracle.oracle_operations import Missing

import torchcompat as torch
from autograd_tape import Tape

LISTED: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "nodes_differ.json").read_text())
KNOWN = nodes.known()


def listed(what: str) -> set[str]:
    return {operation for operations in LISTED[what].values() for operation in operations.split()}


def seen(operation: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(nodes.nodes(torch, operation)))
    return found


def differs(operation: str, part: Callable[[Any], Any]) -> dict[str, Any]:
    """From case to (ours, torch's)."""
    return nodes.differences(part(KNOWN[operation]), part(seen(operation)))


@pytest.mark.parametrize("operation", sorted(KNOWN))
def test_nodes_have_torchs_names(operation: str) -> None:
    different = differs(operation, nodes.names)
    if operation in listed("names"):
        assert different, f"{operation} has torch's names now; take it off the list"
    else:
        assert not different


@pytest.mark.parametrize("operation", sorted(set(KNOWN) - listed("names")))
def test_nodes_show_what_torchs_show(operation: str) -> None:
    different = differs(operation, nodes.saved)
    if operation in listed("saved"):
        assert different, f"{operation} shows what torch's node shows now; take it off the list"
    else:
        assert not different


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


def test_saved_tensors_are_of_custom_functions_and_of_what_tapes_keep() -> None:
    x = torch.ones(2, requires_grad=True)
    y = Doubled.apply(x.exp())
    assert [t.tolist() for t in y.grad_fn.saved_tensors] == [x.exp().tolist()]
    builtin = y.grad_fn.next_functions[0][0]
    assert not hasattr(builtin, "saved_tensors") and not hasattr(builtin.next_functions[0][0], "saved_tensors")
    assert builtin._saved_result.tolist() == x.exp().tolist()
    with Tape() as tape:
        x.exp()
    assert len(tape.entries[0].saved_tensors) == 1


@pytest.mark.parametrize("call, name, value", [
    (lambda x: x.cumsum(-1), "dim", 2**64 - 1), (lambda x: x.sum(-1), "dim", (2**64 - 1,)),
    (lambda x: x.sum((0, -1)), "dim", (0, 2**64 - 1)),
    (lambda x: x.roll(-2, 1), "shifts", (2**64 - 2,)), (lambda x: x.tril(-1), "diagonal", 2**64 - 1), (lambda x: x.cumsum(1), "dim", 1),
    (lambda x: x ** -2, "exponent", -2), (lambda x: x.sum(1, keepdim=True), "keepdim", True)])
def test_whole_numbers_are_shown_without_a_sign(call: Callable[[Any], Any], name: str, value: object) -> None:
    found = getattr(call(torch.ones(2, 3, requires_grad=True)).grad_fn, f"_saved_{name}")
    assert found == value and type(found) is type(value)


def test_every_difference_has_a_reason() -> None:
    for operations in LISTED.values():
        names = [operation for each in operations.values() for operation in each.split()]
        assert len(names) == len(set(names)) and set(names) <= set(KNOWN)
        assert all(reason.strip() for reason in operations)


if __name__ == "__main__":
    for what, part in (("names", nodes.names), ("saved", nodes.saved)):
        for operation in KNOWN:
            try:
                found = bool(differs(operation, part))
            except Missing:
                continue
            if found != (operation in listed(what)) and not (what == "saved" and operation in listed("names")):
                print(what, "new" if found else "healed", operation)
