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
    "values decide on sizes": "argwhere masked_select unique_index",
    "any element of the result may be any of an operand": "masked_place masked_scatter median_all nanmedian_all place_view restride",
    "no rule yet": "block_diag_list ctc ctc_backward embedding_renorm hash_tensor multi_margin multi_margin_backward multilabel_margin "
                   "multilabel_margin_backward",
}
"""The operations that every device computes whole where their operands are split, by reason."""
REPLICATED["views are taken of pieces, their copies of the whole"] = " ".join([
    name for name, rec in RECORDS.items()
    if rec.module.endswith("views.copies") and rec.field("numpy") is not None and rec.field("sharding") is None])
WHOLE = {name for names in REPLICATED.values() for name in names.split()}
MODULES = sorted({rec.module.removeprefix("autograd_tape.ops.") for rec in RECORDS.values()})


@pytest.mark.filterwarnings("ignore::autograd_tape.sharding.ReplicationWarning")
@pytest.mark.parametrize("module", MODULES)
def test_operations_of(module: str) -> None:
    replications.clear()
    failures: list[str] = []
    for name in records.NAMES:
        if RECORDS[name].module.endswith("." + module):
            records.check(RECORDS[name], MOST, report=failures.append)
    assert not failures, "\n".join(failures[:20])
    assert not replications.keys() - WHOLE


def test_what_has_a_rule_is_not_said_to_have_none() -> None:
    assert RECORDS.keys() >= WHOLE | records.OTHER_STRIDES
    assert not [name for name in WHOLE if rule_of(RECORDS[name]) is not None]
