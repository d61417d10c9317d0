"""Factorizations as LAPACK leaves them, and what fails in them: pivots, `info`, layouts, named results, `out=`, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.recording import Table, attempted


def told(torch: Any, value: Any) -> Any:
    """Name of the class, fields, dtypes, strides and numbers of results."""
    if isinstance(value, tuple):
        return [type(value).__name__, [told(torch, v) for v in value]]
    if isinstance(value, torch.Tensor):
        numbers = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        return {"dtype": str(value.dtype), "shape": list(value.shape), "strides": list(value.stride()), "grad": value.requires_grad,
                "data": numbers.detach().reshape(-1).tolist()}
    return value


def matrices(torch: Any) -> dict[str, Any]:
    """What the cases are made of: W square, H Hermitian and indefinite, D definite, T tall, B a batch with a singular matrix."""
    rng = np.random.default_rng(7)
    square, hollow = rng.standard_normal((4, 4)), rng.standard_normal((2, 5, 5))
    turned = square + 1j * rng.standard_normal((4, 4))
    hollow = hollow + hollow.swapaxes(-2, -1)
    hollow[0] *= 1 - np.eye(5)
    found = {"W": square, "C": turned, "S": hollow, "H": turned + turned.conj().T, "D": square @ square.T + np.eye(4),
             "T": rng.standard_normal((5, 3)), "B": np.stack([np.eye(2), np.ones((2, 2)), np.diag([2.0, -3.0])]), "Z": np.zeros((2, 2)),
             "E": np.zeros((0, 0)), "N": np.zeros((2, 0, 0)), "b": rng.standard_normal((4, 2)), "v": rng.standard_normal(3)}
    return {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in found.items()}


CASES = [f"L.{name}_ex({x}{', upper=True' if name == 'cholesky' and x == 'D' else ''})" for name in ("cholesky", "inv", "ldl_factor")
         for x in ("D", "W", "E", "N", "T", "v", "W.half()", "D.float()")] + [
    "L.inv_ex(B).info", "L.cholesky_ex(B)", "L.cholesky_ex(-D)", "L.solve_ex(B, torch.ones(3, 2, 1, dtype=F)).info", "L.solve_ex(W, b)",
    "L.solve_ex(W, b.mT, left=False)", "L.inv_ex(Z, check_errors=True)", "L.cholesky_ex(B, check_errors=True)",
    "L.solve_ex(B, torch.ones(3, 2, dtype=F), check_errors=True)", "L.ldl_factor_ex(S)", "L.ldl_factor(S)", "L.ldl_factor_ex(Z)",
    "L.ldl_factor_ex(C)", "L.ldl_factor_ex(H, hermitian=True)", "L.ldl_factor_ex(W, hermitian=True)", "L.ldl_factor(W.requires_grad_())",
    "L.ldl_solve(*L.ldl_factor(S), torch.ones(2, 5, 1, dtype=F))", "L.ldl_solve(*L.ldl_factor(S[1]), S)",
    "L.ldl_solve(*L.ldl_factor(H, hermitian=True), C, hermitian=True)", "L.ldl_solve(*L.ldl_factor(C + C.mT), C)",
    "L.ldl_solve(W, torch.ones(4), W)", "L.ldl_solve(W, torch.ones(3, dtype=torch.int32), W)", "L.ldl_solve(T, T, T)",
    "L.ldl_solve(W, torch.ones(4, dtype=torch.int32), v)", "L.ldl_solve(W, torch.ones(4, dtype=torch.int32), T)",
    "torch.geqrf(T)", "torch.geqrf(T.mT)", "torch.geqrf(C)", "torch.geqrf(E)", "torch.geqrf(v)", "T.geqrf()", "torch.geqrf(T.float())",
    "L.householder_product(*torch.geqrf(T))", "torch.orgqr(*torch.geqrf(C))", "T.orgqr(v)", "T.orgqr(v[:2])", "T.orgqr(v.float())",
    "T.mT.orgqr(v)", "T.orgqr(b)", "L.householder_product(S, v)", "torch.ormqr(T, v, S[0])", "T.ormqr(v, S[1], False, True)",
    "torch.ormqr(T, v, T, transpose=True)", "torch.ormqr(T, v, v)", "torch.ormqr(T, v, W)", "torch.ormqr(T, v[:2], T)",
    "torch.ormqr(T, v, T.float())", "torch.ormqr(T, v, S)", "torch.triangular_solve(b, W)", "b.triangular_solve(W, False, True, True)",
    "torch.triangular_solve(b, C)", "torch.triangular_solve(v, W)", "torch.triangular_solve(b, T)", "torch.triangular_solve(T, W)",
    "tuple(L.inv_ex(W, out=(torch.empty(0, dtype=F), torch.empty(0, dtype=torch.int32))))",
    "tuple(torch.geqrf(T, out=(T.clone(), v.clone())))",
    "L.householder_product(T, v, out=torch.empty(5, 3, dtype=F))", "L.ldl_factor_ex(W, out=(W.clone(), v, v))",
    "L.inv_ex(W, out=(W.float(), torch.empty(0, dtype=torch.int32)))", "torch.pca_lowrank(T, q=9)", "torch.pca_lowrank(T, niter=-1)",
    "L.solve_triangular(W, b.mT, upper=True, left=False)", "L.solve_triangular(W, b, upper=False)",
    "grad(lambda A: L.eigh(A)[1].abs(), S[1])", "grad(lambda A: L.eigh(A, UPLO='U')[1].abs(), W)", "grad(L.eigvalsh, S[1])",
    "grad(lambda A: L.ldl_factor(A)[0], W)", "grad(lambda A: torch.geqrf(A)[0], T)", "grad(lambda A: L.householder_product(A, v), T)",
    "grad(lambda t: torch.ormqr(T, t, T, True, True), v)", "grad(lambda A: L.inv_ex(A)[0], W)", "grad(lambda A: L.cholesky_ex(A)[0], D)",
    "grad(lambda A: L.solve_ex(A, b)[0], W)", "grad(lambda A: torch.triangular_solve(b, A)[0], W)", "grad(lambda A: A.orgqr(v[:0]), W)",
]


def outcome(torch: Any, case: str) -> Any:
    def grad(function: Any, x: Any) -> Any:
        result = function(x.requires_grad_())
        found = torch.autograd.grad((result * torch.arange(result.numel(), dtype=x.dtype).reshape(result.shape)).sum(), x)[0]
        return found.contiguous()

    names = {"torch": torch, "L": torch.linalg, "F": torch.float64, "grad": grad, **matrices(torch)}
    return attempted(lambda: told(torch, eval(case, names)))


TABLE = Table("factors", CASES, outcome, tolerance=(1e-4, 1e-5), doubles=(1e-9, 1e-11), digits=11)
