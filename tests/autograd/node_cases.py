"""The graph of each case of torch's operator database: of each output's node its name, the names of the nodes behind it, and its attributes
`_saved_...`."""

from __future__ import annotations

import json
from typing import Any

from tests.oracle.oracle_cases import Reader, flatten
from tests.oracle.oracle_operations import OPERATIONS, resolve
from tests.oracle.oracle_replay import recorded
from tests.recording import Table


def described(node: Any) -> list[Any]:
    """[name, names of the nodes behind, names of saved attributes] of a node."""
    behind = [None if n is None else type(n).__name__ for n, _ in node.next_functions]
    return [type(node).__name__, behind, sorted(a.removeprefix("_saved_") for a in dir(node) if a.startswith("_saved_"))]


def nodes(torch: Any, operation: str) -> dict[str, Any]:
    """From case to the node of each tensor that the operation returned."""
    call = resolve(torch, operation)
    record, arrays = recorded(operation)
    reader = Reader(torch, arrays)
    found: dict[str, Any] = {}
    for case in record["cases"]:
        arguments = [reader.value(node) for node in case["in"]]
        keywords = reader.value({"dict": case["kw"]})
        result = call(*arguments, **keywords)
        given = {id(x) for x in flatten([*arguments, keywords])}
        outputs = [t for t in flatten(result) if isinstance(t, torch.Tensor) and id(t) not in given]
        if any(t.grad_fn is not None for t in outputs):
            found[case["id"]] = [None if t.grad_fn is None else described(t.grad_fn) for t in outputs]
    return found


def grouped(cases: dict[str, Any]) -> list[Any]:
    """[[graph, the cases that have it], ...]: most cases of an operation have the same."""
    groups: dict[str, list[str]] = {}
    for case, graph in cases.items():
        groups.setdefault(json.dumps(graph), []).append(case)
    return [[json.loads(graph), names] for graph, names in groups.items()]


def known() -> dict[str, dict[str, Any]]:
    """What was recorded: from operation to case to nodes."""
    return {operation: {case: graph for graph, cases in groups for case in cases}
            for operation, groups in TABLE.recorded.items()}


def names(cases: dict[str, Any]) -> dict[str, Any]:
    """Of each case the names of the outputs' nodes, without what lies behind them."""
    return {case: [None if node is None else node[0] for node in graph] for case, graph in cases.items()}


def saved(cases: dict[str, Any]) -> dict[str, Any]:
    """Of each case the names of what the outputs' nodes show of what they saved, by the node's name."""
    return {case: [None if node is None else [node[0], node[2]] for node in graph] for case, graph in cases.items()}


def differences(expected: dict[str, Any], actual: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """From case to (ours, torch's), where they differ."""
    return {case: (actual.get(case), expected.get(case)) for case in {*expected, *actual} if actual.get(case) != expected.get(case)}


def recordable(torch: Any) -> list[str]:
    """The operations some case of which has a node."""
    return [operation for operation in OPERATIONS if nodes(torch, operation)]


TABLE = Table("nodes", recordable, lambda torch, operation: grouped(nodes(torch, operation)))
