"""Calls that were recorded from torch, table by table: each gives what torch gave, or what is known to differ."""

from __future__ import annotations

import pytest
from tests.ops.edge_cases import TABLE as EDGES
from tests.ops.empty_cases import TABLE as EMPTY
from tests.ops.expanded_cases import TABLE as EXPANDED
from tests.ops.lying_cases import TABLE as LYING
from tests.ops.meta_cases import TABLE as META
from tests.ops.mode_cases import TABLE as MODES

from tests.ops.out_cases import TABLE as OUT
from tests.ops.wrong_cases import TABLE as WRONG

import torchcompat as torch
from tests.recording import Table

GROUPS = {"empty": (EMPTY, 60), "wrong": (WRONG, 60), "modes": (MODES, 40), "meta": (META, 20), "out": (OUT, 24),
          "expanded": (EXPANDED, 24), "edges": (EDGES, 4),
          "lying": (LYING, 8)}
"""From a table's name to the table, and how many tests its calls are dealt out to."""


@pytest.mark.parametrize(("table", "group", "groups"), [
    pytest.param(table, group, groups, id=f"{name}-{group}") for name, (table, groups) in GROUPS.items() for group in range(groups)])
def test_as_torch(table: Table, group: int, groups: int) -> None:
    table.assert_as_torch(torch, *table.part(group, groups))
