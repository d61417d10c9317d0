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
        masked_scatter masked_select pad_by_index_backward pad_circular pad_reflect pad_replicate put put_at repeat roll
        scatter_add scatter_reduce scatter_src scatter_value stack take tril triu unique_index zero""",
    "elementwise: no rule yet": """
        angle frexp""",
    "matrices: no rule yet": """
        addbmm addmm addmv addr baddbmm bmm cholesky_solve column_major det dot fft_along inverse linalg_cholesky linalg_eig
        linalg_eigh linalg_lu linalg_lu_factor_ex linalg_matrix_rank linalg_pinv linalg_qr linalg_svd lstsq_solution lu_unpack
        matrix_exp mv outer slogdet solve_matrices vdot""",
    "networks: no rule yet": """
        adaptive_avg_pool_nd adaptive_avg_pool_nd_grad adaptive_max_pool_nd attention avg_pool_nd avg_pool_nd_grad channel_norm
        col2im convolution_nd convolution_nd_input convolution_nd_weight cross_entropy embedding embedding_backward
        embedding_scaled glu group_norm im2col layer_norm log_softmax masked_scale max_pool_nd max_unpool_nd nll_loss picked
        resample resample_grad spread_picked""",
    "reductions: no rule yet": """
        all amax amin aminmax any argmax argmin at_indices count_nonzero cummax cummin cumprod cumsum euclidean_distance
        from_indices kthvalue linalg_vector_norm logcumsumexp logsumexp max_all max_along median_all median_along min_all
        min_along mode nanmedian_all nanmedian_along nansum prod sort_along std_mean_of std_of tie_weights topk var_mean_of var_of""",
    "views: no rule yet": """
        diagonal_backward ones_for restride unfold_backward zeros_for""",
}
"""The operations that every device computes whole where their operands are split, by reason."""
WHOLE = {name for names in REPLICATED.values() for name in names.split()}
FAILING = set("""
    abs acos acosh allclose angle as_strided as_strided_ as_strided_view asin asinh atan atanh bincount bucketize ceil celu clone
    conj_physical conj_view contiguous copy cos cosh cosine_similarity cov cross cross_entropy cross_entropy_backward ctc_loss
    cumprod deg2rad diag diag_embed diagflat diagonal diagonal_backward diagonal_scatter digamma elu embedding_bag entr equal erf
    erfc erfcx erfinv exp exp2 expm1 fill_diagonal_ flip floor frac gaussian_nll_loss getitem grid_sample hardshrink hardsigmoid
    hardswish hardtanh histc i0 i0e i1 i1e index_put isin leaky_relu lgamma linalg_cross linalg_eig linalg_lstsq
    linalg_vector_norm linear log log10 log1p log2 log_ndtr logdet logsigmoid lstsq_solution matrix_power max_unpool1d
    max_unpool2d max_unpool3d mish multi_margin_loss multilabel_margin_loss ndtr ndtri neg neg_view nll_loss nll_loss_grad one_hot
    prod rad2deg reciprocal relu relu6 repeat_interleave rsqrt scaled_dot_product_attention searchsorted selu setitem sgn sigmoid
    sign signbit silu sin sinc sinh softshrink softsign sort sqrt square squeeze take_along_dim tan tanh tanhshrink threshold
    trunc unfold unfold_backward unique unique_consecutive view_as_complex view_dtype zero_gradient
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
