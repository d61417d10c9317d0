"""Derivatives in half precision lie near those in double precision, first and second ones, of every operation that takes it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.ops.op_cases import DIFFERENTIABLE_NAMES, Problem, samples, weighted

from autograd_tape.dtypes import bfloat16
from autograd_tape.errors import AutogradError
from autograd_tape.grad import grad
from autograd_tape.ops import RECORDS

EPS, UNITS = 2.0**-8, 12
REFUSED = frozenset("""
    _fft_r2c _lu_with_info avg_pool3d bincount cdist cholesky cholesky_inverse cholesky_solve cofactors complex cross_entropy
    ctc ctc_backward multi_margin multi_margin_backward multilabel_margin multilabel_margin_backward
    ctc_loss det embedding_renorm erfcx fft_fft fft_fft2 fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn
    fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn grid_sample histogram histogramdd
    i0 i0e i1 i1e inverse linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv_ex
    linalg_ldl_factor linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matrix_norm linalg_pinv
    linalg_qr linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve
    linalg_vander log_ndtr logdet lp_pool3d lstsq_solution lu lu_solve matrix_power multi_margin_loss multilabel_margin_loss
    nanquantile ndtri nll_loss nuclear_norm orgqr ormqr pdist pinverse polar qr quantile reflected_gradient segment_reduce slogdet
    lu_solution solve_matrices solve_matrices_ex solve_triangle
    stft svd triangular_solve unique unique_consecutive view_as_complex view_as_complex_copy zeta
""".split())
"""Operations without a kernel for half precision or of a derivative, as in torch, or whose samples hold numbers that stay double."""
IN_STEPS = {"cosine_similarity": 600, "euclidean_distance": 40, "scatter_reduce": 20, "grid_sampler": 120}
SECOND_IN_STEPS = {"group_norm_statistics": 600_000, "native_group_norm": 600_000, "gru": 15}
"""Units in the last place that are lost where the steps are torch's, each rounded, and cancel: torch loses as many. A rounded place in a
grid may lie in the next cell. Second derivatives alone: those by groups of two numbers are 0, of terms as large as the cubed reciprocal
deviation; a packed GRU's by its first state lose 13.5 units in torch, 14.4 here."""


def derivatives(problem: Problem, values: list[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """First and second derivatives of the weighted outputs at `values`, and how many are first ones."""
    inputs, first = problem.gradients(values, create_graph=True)
    made = [g for g in first if g is not None and g.requires_grad]
    loss = sum([weighted(g, np.ones(g.shape)) for g in made[1:]], weighted(made[0], np.ones(made[0].shape))) if made else None
    second = grad(loss, inputs) if made else []
    found = [np.asarray(getattr(g, "_data", g)).astype(np.float64) for g in (*first, *second) if g is not None]
    return found, sum([g is not None for g in first])


def worst(name: str) -> tuple[float, float, int]:
    """(the largest error of a first and of a second derivative in bfloat16 beyond twice what it moves by if the numbers are nudged, in
    units of its largest element, how many numbers were compared)."""
    found, numbers = [0.0, 0.0], 0
    for sample in samples(RECORDS[name]):
        problem = Problem(RECORDS[name], sample)
        if not problem.inputs or any([x.dtype != np.float64 for x in problem.inputs]):
            continue
        problem.weights = [np.round(w * 128) / 128 for w in problem.weights]
        values = [x.astype(bfloat16.np) for x in problem.inputs]
        wide = [x.astype(np.float64) for x in values]
        rng = np.random.default_rng(0)
        truth, first = derivatives(problem, wide)
        nudged = [derivatives(problem, [x * (1 + EPS * rng.choice((-1, 1), x.shape)) for x in wide])[0] for _ in range(4)]
        half, _ = derivatives(problem, values)
        for i, (a, b) in enumerate(zip(half, truth, strict=True)):
            numbers += a.size
            moved = np.max([np.abs(n[i] - b) for n in nudged], axis=0)
            scale = max(np.abs(b).max(initial=0.0), 0.125) * EPS
            order = int(i >= first)
            error = float(np.max(np.maximum(np.abs(a - b) - 2 * moved, 0), initial=0.0))
            found[order] = max(found[order], error / scale)
    return found[0], found[1], numbers


@pytest.mark.parametrize("name", DIFFERENTIABLE_NAMES)
def test_derivatives_are_near_the_truth(name: str, compared: Callable[[int], None], excused: Callable[[str], None]) -> None:
    if name in REFUSED:
        with pytest.raises((AutogradError, NotImplementedError)):
            worst(name)
        excused("refused")
        return
    first, second, numbers = worst(name)
    assert first <= IN_STEPS.get(name, UNITS)
    assert second <= SECOND_IN_STEPS.get(name, IN_STEPS.get(name, UNITS))
    compared(numbers)
    if not numbers:
        excused("has no derivative by real numbers")
