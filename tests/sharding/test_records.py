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
        argwhere basic_index_backward block_diag_list cast_like cat constant_pad_nd copy diag_embed drawn fill flip gather index
        index_add_scaled index_backward index_copy index_fill_tensor index_fill_value index_reduce index_select masked_place
        masked_scatter masked_select pad_by_index_backward pad_circular pad_reflect pad_replicate put put_at repeat roll scatter_add
        scatter_reduce scatter_src scatter_value stack take tril triu unique_index zero""",
    "networks: no rule yet": """
        embedding embedding_backward embedding_renorm embedding_scaled""",
    "reductions: no rule yet": """
        aminmax argmax argmin at_indices cummax cummin cumprod cumsum from_indices kthvalue logcumsumexp max_along median_all
        median_along min_along mode nanmedian_all nanmedian_along sort_along topk""",
    "views: no rule yet": """
        diagonal_backward ones_for restride unfold_backward zeros_for""",
}
"""The operations that every device computes whole where their operands are split, by reason."""
WHOLE = {name for names in REPLICATED.values() for name in names.split()}
FAILING = set("""
    angle as_strided as_strided_ as_strided_view bincount bucketize contiguous copy diag diag_embed diagflat diagonal
    diagonal_backward diagonal_scatter embedding_bag fft_along fill_diagonal_ flip getitem histc index_put isin linalg_lstsq
    linalg_solve lstsq_solution nanquantile one_hot quantile repeat_interleave searchsorted setitem signbit sort unfold
    unfold_backward unique unique_consecutive view_dtype
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
