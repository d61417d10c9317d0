"""Operations on tensors that lie over meshes give what they give on plain ones, and what has no rule is known."""

from __future__ import annotations

import os

import pytest

from autograd_tape.ops import RECORDS
from autograd_tape.sharding import replications
from autograd_tape.sharding.rules import rule_of

from . import records

MOST = None if os.environ.get("AUTOGRAD_TAPE_ALL_PLACEMENTS") else 4
"""How many placements of a record's samples are tried; all that there are where the environment says so."""
REPLICATED = {
    "data: no rule yet": """
        argwhere block_diag_list masked_place masked_scatter masked_select unique_index""",
    "networks: no rule yet": """
        embedding_renorm""",
    "reductions: no rule yet": """
        median_all nanmedian_all""",
    "views: no rule yet": """
        embedding_renorm restride""",
}
"""The operations that every device computes whole where their operands are split, by reason."""
WHOLE = {name for names in REPLICATED.values() for name in names.split()}
FAILING = set("""
    fft_along linalg_lstsq linalg_solve lstsq_solution nanquantile quantile
""".split())
"""Operations that do not give the same yet."""
MODULES = sorted({rec.module.removeprefix("autograd_tape.ops.") for rec in RECORDS.values()})


@pytest.mark.filterwarnings("ignore::autograd_tape.sharding.ReplicationWarning")
@pytest.mark.parametrize("module", MODULES)
def test_operations_of(module: str) -> None:
    replications.clear()
    failures: list[str] = []
    for name in records.NAMES:
        if RECORDS[name].module.endswith("." + module) and name not in FAILING:
            records.check(RECORDS[name], MOST, report=failures.append)
    assert not failures, "\n".join(failures[:20])
    assert not replications.keys() - WHOLE


def test_what_has_a_rule_is_not_said_to_have_none() -> None:
    assert WHOLE <= RECORDS.keys() and FAILING <= RECORDS.keys()
    assert not [name for name in WHOLE if rule_of(RECORDS[name]) is not None]
