"""Calls of linear algebra that torch refuses, writes elsewhere, or has carried out in ways of its own: drivers of least squares, singular
matrices, complex limits, targets of other dtypes, functions that it took out."""

from __future__ import annotations

import warnings
from typing import Any

from tests.recording import Table, attempted

DRIVERS = ("gels", "gelsy", "gelsd", "gelss", None)
LINES = [
    *[f"cond({m}, {p!r})" for m in ("E", "S", "stack([E, S])", "E.cfloat()", "S.cfloat()", "stack([E, S]).cfloat()", "S.double()")
      for p in (1, -1, "fro", "nuc", 2, -2, None)] , "cond(E[:2], 'nuc')", "cond(E, 'wrong')",
    *[f"pinv(A, {k}=tensor(1j))" for k in ("rcond", "atol", "rtol")], "pinv(A, tensor(1j))",
    *[f"matrix_rank(A, {k}=tensor(1j))" for k in ("tol", "atol", "rtol")],
    *[f"{call}, out={out})" for call in ("householder_product(A, A[0]", "torch.orgqr(A, A[0]", "torch.ormqr(A, A[0], A", "pinv(A", "cond(A")
      for out in ("empty(3, 3).int()", "empty(3, 3).double()", "empty(0).bool()")],
    "torch.geqrf(A, out=(empty(3, 3).int(), empty(3)))", "torch.geqrf(A, out=(empty(3, 3), empty(3).int()))",
    "householder_product(A, A[0].int())",
    *[f"norm(B, 'nuc', dim={dim})" for dim in ("(1,)", "(0, 1, 2)", "()", "(1, 1)")],
    *[f"lstsq({a}, {b}, driver={driver!r}, rcond={rcond})" for a, b in (
        ("T", "T[:, :2]"), ("T.mT", "A"), ("stack([T, T + 1])", "stack([T, T * T])"))
      for driver in DRIVERS for rcond in (None, -1, 0.3, 1.0) if driver not in ("gelsy", None) or rcond != 1.0],
    *[f"lstsq({a}, {b}, driver={driver!r})" for a, b in (("T[:1, :0]", "A[:1]"), ("T[:0]", "A[:0]")) for driver in DRIVERS],
    *[f"torch.{name}({args})" for name, args in (("eig", "A"), ("eig", "A, True"), ("symeig", "A"), ("lstsq", "A, A"), ("solve", "A, A"),
                                                ("matrix_rank", "A"), ("matrix_rank", "A, 1, symmetric=True"))],
    "A.eig()", "A.symeig(True)", "A.lstsq(A)", "A.solve(A)",
    "torch.nuclear_norm(A)", "torch.nuclear_norm(A, True)", "torch.nuclear_norm(B, (2, 0), True)", "torch.nuclear_norm(B, (1,))",
    "torch.nuclear_norm(B, 1)", "torch.nuclear_norm(A, dim=(0, 1), keepdim=True, out=empty(0))", "torch.nuclear_norm(A.long())",
    "torch._addmm_activation(A, A, A)", "torch._addmm_activation(A[0], A, A, beta=2, alpha=3, use_gelu=True)", "A._addmm_activation(A, A)",
    "torch._addmm_activation(A, A, B[0])", "torch._addmm_activation(A, A, B[0][:2])",
    "torch._addmm_activation(A.long(), A.long(), A.long())",
    "torch._compute_linear_combination(B, A[:, :2])", "torch._compute_linear_combination(B.cfloat(), A[:, :2])",
    "torch._compute_linear_combination(B, A[:, :2], out=torch.ones(3, 3, 4))",
    *[f"torch.addr({m}, {v}, {v}, beta={beta}, alpha={alpha})" for m, v in (("H", "H[0]"), ("H.bfloat16()", "H[1].bfloat16()"))
      for beta, alpha in ((0.3, 0.7), (0, 2), (1, 1.1))], "torch.addr(H, H[0], H[1], beta=True)",
    *[f"fft.{name}(7, out={out})" for name in ("fftfreq", "rfftfreq") for out in ("empty(0)", "empty(2)", "empty(2, 3)", "tensor(0.)")],
    "sorted(special.__all__)",
]


def shown(torch: Any, value: Any) -> Any:
    """Numbers, shape and dtype of tensors."""
    if isinstance(value, torch.Tensor):
        numbers = torch.view_as_real(value) if value.is_complex() else value
        return [numbers.double().tolist(), list(value.shape), str(value.dtype).rpartition(".")[2]]
    return [shown(torch, v) for v in value] if isinstance(value, (tuple, list)) else value


def called(torch: Any, line: str) -> Any:
    """What a call gives, or its error, and the warnings of targets."""
    A = torch.tensor([[2.0, 1, -1], [0.5, 3, 1], [1, -1, 4]])
    T = torch.cat([A, torch.tensor([[1.0, 2, 3], [4, -2, 0.5]])])
    names = {**{name: getattr(torch.linalg, name) for name in ("cond", "pinv", "matrix_rank", "householder_product", "norm", "lstsq")},
             **{name: getattr(torch, name) for name in ("tensor", "empty", "stack", "fft", "special")},
             "torch": torch, "E": torch.eye(3), "S": torch.diag(torch.tensor([1.0, 1, 0])), "A": A, "T": T,
             "B": torch.arange(24.0).reshape(2, 3, 4) - 7, "H": (A / 7).half()}
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = attempted(lambda: shown(torch, eval(line, names)))
    return value, [str(w.message).partition(" (Triggered")[0] for w in found if " out" in str(w.message)]


TABLE = Table("linear", LINES, called, tolerance=(2e-4, 2e-5), digits=7, zipped=True)
