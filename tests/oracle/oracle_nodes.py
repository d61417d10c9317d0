"""Record the graph of each case of torch's operator database: ``python tests/oracle/oracle_nodes.py`` where torch is installed.

Of each output's node: its name, the names of the nodes behind it, and its attributes `_saved_...`. Given operations, it prints instead how
torchcompat differs from the record (for ``--all``, of all operations).
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from oracle_cases import Reader, flatten
from oracle_operations import OPERATIONS, Missing, resolve
from oracle_replay import recorded

TARGET = Path(__file__).parent.parent / "fixtures" / "nodes.json"


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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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
            for operation, groups in json.loads(TARGET.read_text()).items()}


def names(cases: dict[str, Any]) -> dict[str, Any]:
    """Of each case the names of the outputs' nodes, without what lies behind them."""
    return {case: [None if node is None else node[0] for node in graph] for case, graph in cases.items()}


def saved(cases: dict[str, Any]) -> dict[str, Any]:
    """Of each case the names of what the outputs' nodes show of what they saved, by the node's name."""
    return {case: [None if node is None else [node[0], node[2]] for node in graph] for case, graph in cases.items()}


def differences(expected: dict[str, Any], actual: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """From case to (ours, torch's), where they differ."""
    return {case: (actual.get(case), expected.get(case)) for case in {*expected, *actual} if actual.get(case) != expected.get(case)}


def main() -> None:
    """Records, or compares."""
    only = sys.argv[1:]
    if not only:
        torch = importlib.import_module("torch")
        found = {operation: nodes(torch, operation) for operation in OPERATIONS}
        rows = ",\n".join(f'"{operation}": {json.dumps(grouped(cases))}' for operation, cases in found.items() if cases)
        TARGET.write_text(f"{{\n{rows}\n}}\n")
        return
    torch = importlib.import_module("torchcompat")
    recorded_nodes = known()
    for operation in OPERATIONS if only == ["--all"] else only:
        try:
            actual = json.loads(json.dumps(nodes(torch, operation)))
        except Missing:
            continue
        shown: set[str] = set()
        for ours, theirs in differences(recorded_nodes.get(operation, {}), actual).values():
            text = f"{operation}\n   ours  {ours}\n   torch {theirs}"
            if text not in shown:
                print(text)
            shown.add(text)


if __name__ == "__main__":
    main()
