"""What autocast does to which operation: the facts, by the operations' public names. See `amp`."""

from __future__ import annotations

from autograd_tape.ops import get_record

LOWER = """
    matmul mm bmm addmm addbmm baddbmm linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    prelu scaled_dot_product_attention linalg.vecdot
""".split()
FLOAT32 = """
    avg_pool3d adaptive_avg_pool3d adaptive_max_pool3d
    nn.functional.adaptive_max_pool3d_with_indices max_pool3d nn.functional.max_pool3d
    lp_pool3d max_unpool1d max_unpool2d max_unpool3d
    binary_cross_entropy binary_cross_entropy_with_logits cross_entropy
    nll_loss mse_loss l1_loss smooth_l1_loss huber_loss
    kl_div poisson_nll_loss ctc_loss soft_margin_loss
    cosine_embedding_loss hinge_embedding_loss margin_ranking_loss
    multi_margin_loss multilabel_margin_loss triplet_margin_loss
    grid_sample cdist trace prod quantile nanquantile polar view_as_complex
    inverse cholesky cholesky_inverse cholesky_solve linalg.cholesky linalg.cond linalg.eig linalg.eigh
    linalg.eigvals linalg.eigvalsh linalg.lstsq linalg.matrix_rank linalg.qr linalg.solve
    linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve lu_solve pinverse qr svd
""".split()
WIDEST = "cat stack index_copy".split()
WHOLE = """
    bilinear dot mv vdot addmv outer ger addr cosine_similarity embedding_bag
""".split()
"""What torch carries out in one piece, and leaves as it is, where we make it of others."""

POLICIES: dict[str, str] = {get_record(name).name: policy for policy, names in (
    ("lower", LOWER), ("float32", FLOAT32), ("widest", WIDEST), ("whole", WHOLE)) for name in names}
"""From a record's name to what its floating-point arguments are cast to: "lower" (the dtype of autocast), "float32", "widest" (of its
arguments); "whole" casts none, here and in what it is made of."""
