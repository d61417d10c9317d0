"""Products of groups of matrices, and of 8-bit floats with scales: values, layouts, gradients, and what is refused."""

from __future__ import annotations

from typing import Any

from tests.recording import Table, attempted

SETTING = """
F, f32, bf16, f16, f8, e5 = nn.functional, torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2
S, W = F.ScalingType, F.SwizzleType
offs = torch.tensor([4, 4, 16], dtype=torch.int32)
one = torch.tensor(1.)
def r(*shape): return (torch.arange(prod(shape)).reshape(shape) * 5 % 17 - 8.) / 4
def told(y): return [str(y.dtype), list(y.shape), list(y.stride()), y.float().tolist()]
def grads(a, b, offs=None):
    a, b = a.requires_grad_(), b.requires_grad_()
    y = F.grouped_mm(a, b, offs=offs)
    found = torch.autograd.grad(y, (a, b), r(*y.shape).to(y.dtype), create_graph=True)
    return [type(y.grad_fn).__name__, told(y)[:3], *[[str(g.dtype), list(g.shape), g.tolist()] for g in found]]
A, B = r(4, 32).to(f8), r(8, 32).to(f8).t()
def scaled(sa=one, sb=one, **rest): return torch._scaled_mm(A, B, sa, sb, **rest)
def scaled2(*args, **rest): return F.scaled_mm(A, B, *args, **rest)
b = r(3, 16, 8)
"""
GROUPED = [
    *[f"told(F.grouped_mm(r({a}).to({d}), r({b}).to({d}), offs={offs}))" for d in ("f32", "bf16", "f16") for a, b, offs in (
        ("16, 16", "3, 16, 8", "offs"), ("3, 8, 16", "16, 16", "offs"), ("8, 16", "16, 8", "offs"), ("3, 8, 16", "3, 16, 8", None))],
    *[f"grads(r({a}).to({d}), r({b}).to({d}), {offs})" for d in ("f32", "bf16") for a, b, offs in (
        ("16, 16", "3, 16, 8", "offs"), ("3, 8, 16", "16, 16", "offs"), ("8, 16", "16, 8", "offs"), ("3, 8, 16", "3, 16, 8", None))],
    "told(F.grouped_mm(r(16, 16), r(3, 3, 16).mT, offs=offs))", "told(F.grouped_mm(r(3, 8, 16), r(3, 3, 16).mT))",
    "told(F.grouped_mm(r(16, 8).t(), r(3, 16).t(), offs=offs))", "told(F.grouped_mm(r(0, 16), b, offs=offs * 0))",
    "told(F.grouped_mm(r(16, 20)[:, :16], b, offs=offs))", "told(F.grouped_mm(r(0, 16), r(0, 16, 8), offs=offs[:0]))",
    "told(F.grouped_mm(r(16, 16), b, offs=offs, out_dtype=f32))",
    *[f"F.grouped_mm(r(16, 16).to(torch.{d}), b.to(torch.{d}), offs=offs)" for d in ("float64", "int32", "complex64", "bool")],
    *[f"F.grouped_mm({call})" for call in (
        "r(16, 16), b", "r(3, 8, 16), b, offs=offs", "r(16, 16), b, offs=offs.long()", "r(16, 16), b, offs=offs[:2]",
        "r(16, 16), b, offs=offs.long()[None]", "r(16, 16), b, offs=offs, bias=r(8)", "r(16, 16), b, offs=offs, out_dtype=f16",
        "r(16, 16), b.bfloat16(), offs=offs", "r(16, 16), b.double()[None], offs=offs", "r(16), b, offs=offs",
        "r(16, 16), b[None], offs=offs",
        "r(16, 8), b, offs=offs", "r(16, 12), b", "r(2, 8, 16), b", "r(16, 18)[:, :16], b, offs=offs", "r(16, 32)[:, ::2], b, offs=offs",
        "one.expand(16, 16), b, offs=offs", "r(16, 16), r(3, 16, 16)[..., ::2], offs=offs", "r(16, 16), r(3, 16, 1), offs=offs",
        "r(16, 4).bfloat16(), r(3, 4, 8).bfloat16(), offs=offs", "r(16, 16), b, offs=[1, 2, 3]", "r(16, 16), b, offs", "r(16, 16), 'b'",
        "r(16, 16).to('meta'), b.to('meta'), offs=offs.to('meta')")],
    "list(F.grouped_mm(r(16, 16).bfloat16().to('meta'), b.bfloat16().to('meta'), offs=offs.to('meta')).shape)",
]
SCALED = [
    *[f"told(scaled(one * 1.5, one * .75, out_dtype={d}))"
      for d in ("None", "f32", "bf16", "f16", "f8", "e5", "torch.float64", "torch.int32")],
    *[f"told(scaled(r(4, 1), r(1, 8), out_dtype={d}))" for d in ("None", "f32", "bf16")],
    *[f"told(scaled(bias=r(8).to({of}), out_dtype={d}))" for of, d in (("f32", "f32"), ("bf16", "bf16"), ("f32", "bf16"), ("f32", "None"))],
    "told(scaled(bias=r(1, 8), out_dtype=f32))", "told(scaled(scale_result=one * 2))", "told(scaled(scale_result=one * 2, out_dtype=f32))",
    "told(scaled(one * 100, one * 100))", "told(scaled(r(1), r(1, 1), out_dtype=f32))",
    "told(scaled(out=torch.empty(0, dtype=f8)))",
    *[f"told(torch._scaled_mm({call}))" for call in (
        "A.float().to(e5), B, one, one, out_dtype=f32", "A, B.float().to(e5), one, one", "A[:0], B, one, one",
        "A[:, :0], B[:0], one, one, out_dtype=f32", "A[:, :20], B[:20], one, one", "A, B.contiguous()[:, :3], one, one",
        "A[0], B, one, one", "A, B[0], one, one", "A, B[:8], one, one", "A.bfloat16(), B, one, one", "A.float(), B.float(), one, one",
        "A, B, 1., 1.", "A, B, one.double(), one", "A, B, r(2), r(2)", "A, B, one, r(1, 8)", "A, B, r(4, 2)[:, :1], r(1, 8)",
        "A, B, one, one, bias=r(7)")],
    "[repr(S.RowWise), str(W.NO_SWIZZLE), int(S.BlockWise1x32), [int(s) for s in S.__members__.values()], list(W.__members__)]",
    *[f"told(scaled2({call}))" for call in (
        "one, S.TensorWise, one, S.TensorWise", "one * 2, S.TensorWise, one, S.TensorWise, output_dtype=f32",
        "r(4, 1), S.RowWise, r(1, 8), S.RowWise", "[one], [S.TensorWise], [one], [S.TensorWise], output_dtype=None",
        "one, S.TensorWise, one, S.TensorWise, bias=r(8)", "one, S.TensorWise, r(1, 8), S.RowWise",
        "one, S.TensorWise, one, S.TensorWise, W.SWIZZLE_32_4_4, W.NO_SWIZZLE", "one, 0, one, 0",
        "one, S.TensorWise, one, S.TensorWise, contraction_dim=(1, 0)", "one, S.TensorWise, one, S.TensorWise, contraction_dim=(0,)",
        "one.double(), S.TensorWise, one, S.TensorWise")],
]


def _outcome(torch: Any, code: str) -> Any:
    from math import prod

    places: dict[str, Any] = {"torch": torch, "nn": torch.nn, "prod": prod}
    exec(SETTING, places)
    def run() -> Any:
        found = eval(code, places)
        return places["told"](found) if isinstance(found, torch.Tensor) else found

    return attempted(run)


TABLE = Table("scaled", [*GROUPED, *SCALED], _outcome, tolerance=(1e-5, 1e-5))
