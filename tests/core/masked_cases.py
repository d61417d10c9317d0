"""torch.masked and its tensors: what functions and rules give, and the gradients through them."""

from __future__ import annotations

import math
import warnings
from typing import Any

from tests.recording import Table

FUNCTIONS = ["sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "median", "logsumexp", "norm", "var", "std", "softmax",
             "log_softmax", "softmin", "normalize", "cumsum", "cumprod"]
DTYPES = ["float64", "float16", "int8", "complex128", "bool"]
MASKS = {"none": "None", "some": "mask", "row": "mask[0]", "high": "mask[None]", "number": "torch.tensor(False)"}
OF_TENSORS = [
    "M()", "M().abs()", "M().exp()", "M().pow(2)", "M().cos_()", "M().relu()", "M().clamp(-1, 1)",
    "M() + M()", "1 + M()", "M() * 2",
    "M() / d",
    "M() < 0", "M() == M()", "M().add_(M())", "M() + torch.masked.masked_tensor(d, ~mask)", "torch.add(M(), M(), alpha=2)", "M()[0]",
    "M()[:, 1:3]", "M().t()", "M().reshape(-1)", "torch.cat([M(), M()])", "torch.stack([M(), M()])", "M().split(2, 1)", "M().permute(1, 0)",
    "M().softmax(-1)", "torch.where(d > 0, M(), M())", "M().to(torch.float64)", "M().to_tensor(7)", "M().get_data()", "M().get_mask()",
    "torch.masked.masked_tensor(torch.tensor(3.), torch.tensor(True))", "torch.masked.masked_tensor(torch.tensor(3), torch.tensor(False))",
    "torch.masked.masked_tensor(3, mask)", "torch.masked.masked_tensor(d, mask.int())", "torch.masked.masked_tensor(d, mask[0])",
    "torch.masked.masked_tensor(d, mask[:2])", "torch.masked.masked_tensor(d.bfloat16(), mask)", "torch.masked.masked_tensor(M(), mask)",
    "torch.masked._output_mask(torch.masked.norm, d, 2, 0, mask=mask)", "torch.masked._output_mask(3, d)",
    "torch.masked.sum(d, (0, 0))", "torch.masked.mean(d.int(), 0)", "torch.masked.var(d, 0, True, correction=1)",
    *[f"torch.masked.{name}(M(), 0)" for name in ("sum", "mean", "amax", "softmax", "cumsum")],
    *[call.format(name) for name in ("sum", "mean", "amin", "argmax", "prod", "all", "var", "std", "norm")
      for call in ("M().{}()", "M().{}(1)", "M().{}(dim=0, keepdim=True)", "torch.{}(M(), 0)")],
]
OF_SPARSE = {  # reductions of sparse tensors, and what becomes of their masks
    "layouts": ["to_sparse()", "to_sparse_csr()", "to_sparse(1)", "to_sparse_csc()"],
    "masks": ["mask.to_sparse()", "mask.to_sparse_csr()", "mask.to_sparse(1)", "mask", "mask[0]", "mask[:1].to_sparse()",
              "mask[:1].to_sparse_csr()", "torch.zeros_like(mask)", "None"]}
SPARSE = [
    *[f"torch.masked.{name}(d.{layout}, {'2, ' * (name in ('norm', 'normalize'))}{dim}, mask={mask})" for name in FUNCTIONS
      for layout in OF_SPARSE["layouts"] for dim in (0, 1) for mask in ("mask", "None")
      if (name not in FUNCTIONS[1:3] + ["amax", "sum", "amin"])],
    *[f"torch.masked.{name}(d.{layout}, {dim}, keepdim={keepdim}, mask={mask})" for name in ("sum", "prod", "amax", "amin", "mean")
      for layout in OF_SPARSE["layouts"] for dim in ("0", "1", "()") for keepdim in (False, True)
      for mask in OF_SPARSE["masks"]],
    *[f"torch.masked.{name}(d.to(torch.{dtype}).{layout}, 0, keepdim=True, mask=full{more})" for name in ("sum", "prod", "amax", "mean")
      for dtype in ("float16", "bfloat16", "float64", "complex64", "int8", "uint8", "bool") for layout in OF_SPARSE["layouts"][:2]
      for more in ("", ", dtype=torch.float64")],
    *[f"torch.masked.{name}(torch.tensor(5.).to_sparse(), {dim}, keepdim={keepdim}, mask=torch.tensor({mask}))"
      for name in ("sum", "prod", "amax") for dim in (0, "()") for keepdim in (False, True) for mask in (True, False)],
    *[f"torch.masked.{name}(d.reshape(2, 2, 3).to_sparse({n}), {dim}, keepdim=True, mask=mask.reshape(2, 2, 3))" for name in ("sum", "amin")
      for n in (1, 2, 3) for dim in (0, 1, 2, (0, 1), (1, 2), (0, 1, 2))],
    *[f"torch.masked._where({mask}, {x}, torch.tensor(7.))" for mask in OF_SPARSE["masks"][:5] for x in (
        "d", "d.to_sparse()", "d.to_sparse_csr()", "d.to_sparse(1)", "torch.eye(3, 4).to_sparse()", "torch.eye(3, 4).to_sparse(1)",
        "torch.eye(3, 4).to_sparse_csr()")],
    *[f"torch.masked._input_mask({x}, mask={mask})" for mask in OF_SPARSE["masks"] for x in (
        "d", "d.to_sparse()", "d.to_sparse_csr()", "d.to_sparse(1)", "d.to_sparse_csc()")],
    "torch.masked._output_mask(torch.masked.sum, d.to_sparse(), 0, mask=mask)",
    "torch.masked.sum(d.to_sparse().requires_grad_(), 0, mask=mask).requires_grad",
    *[f"torch.masked.{name}(d.to_sparse_csr().requires_grad_(), 0, keepdim=True, mask=mask).to_dense().sum().backward()"
      for name in ("sum", "prod")],
    *[f"S({layout!r}){call}" for layout in ("to_sparse", "to_sparse_csr") for call in (
        "", ".layout", ".is_sparse", ".is_sparse_coo()", ".is_sparse_csr()", ".get_data()", ".get_mask()", ".to_dense()", ".to_sparse()",
        ".to_sparse_csr()", ".to_sparse_coo()", ".sin()", ".pow(2)", ".sin_()", ".clamp(-1, 1)", ".is_contiguous()", ".contiguous()",
        " + 2", " < 1", ".add_(1)", ".clone()", ".detach()", ".reshape(-1)", "[0]", ".t()", ".to(torch.float64)", ".to_tensor(3.)",
        ".softmax(0)", ".requires_grad", ".shape",
        *[f".{name}()" for name in ("sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std")], ".sum(0)",
        ".max()")],
    *[f"S({layout!r}) {call}" for layout in ("to_sparse", "to_sparse_csr") for call in (
        "+ S('to_sparse')", "* S('to_sparse_csr')", "- d", "== S('to_sparse')")],
    "torch.masked.masked_tensor(d.to_sparse(), mask)", "torch.masked.masked_tensor(d.to_sparse_csc(), mask.to_sparse_csc())",
    "torch.masked.masked_tensor(d.to_sparse(), mask.to_sparse())", "torch.masked.masked_tensor(d.to_sparse_csr(), mask.to_sparse_csr())",
    "torch.masked.masked_tensor(d.to_sparse(), (d > -20).to_sparse())", "torch.masked.masked_tensor(d.to_sparse(), (~mask).to_sparse())",
    "torch.masked.masked_tensor(d.sparse_mask(mask.to_sparse()), torch.flip(mask, (1,)).to_sparse())",
    "torch.masked.masked_tensor(d.sparse_mask(mask.to_sparse_csr()), torch.flip(mask, (1,)).to_sparse_csr())",
    "M().reshape(3, 2, 2).to_sparse_csr()", "M().to_sparse()", "M().to_dense()", "M().to_sparse_csr()", "M().is_contiguous()",
    *[f"core.{call}" for call in (
        "_tensors_match(d, d)", "_tensors_match(d, d + 1e-7, exact=False)", "_tensors_match(d.to_sparse(), d.to_sparse())",
        "_tensors_match(d, d.to_sparse())", "_tensors_match(M(), d)", "_masks_match(M(), M())", "_masks_match(M(), d)", "_get_data(M())",
        "_maybe_get_mask(d)", "_wrap_result((d, d), (mask, mask))", "_wrap_result(3, mask)",
        "_map_mt_args_kwargs([M(), [M(), 2]], {}, lambda x: x.get_mask())")],
    *[f"maskedtensor.{call}" for call in (
        "_is_native_unary(torch.ops.aten.sin)", "_is_native_unary(torch.ops.aten.add)", "_is_native_binary(torch.ops.aten.add_)",
        "_is_reduction(torch.sum)", "_is_reduction(torch.Tensor.std)", "_is_reduction(torch.sin)",
        "_is_pass_through_fn(torch.ops.aten.cat)",
        "_apply_native_unary(torch.ops.aten.sin, M())", "_apply_native_unary(torch.ops.aten.add, M())",
        "_apply_native_binary(torch.ops.aten.add, M(), M())", "_apply_native_binary(torch.ops.aten.sub, M(), M(), alpha=2)",
        "_apply_native_binary(torch.ops.aten.add, M(), 1, d)", "_apply_native_unary(torch.ops.aten.clamp, M(), d)",
        "_apply_reduction(torch.sum, M())", "_apply_reduction(torch.sum, d, 0)", "_apply_pass_through_fn(torch.ops.aten.t, M())",
        "binary._get_at_least_one_mask(d, d)", "binary._get_at_least_one_mask(M(), M() + 0).sum()",
        "unary.UNARY_NAMES_UNSUPPORTED", "unary.UNARY_NAMES", "binary.BINARY_NAMES", "reductions.REDUCE_NAMES",
        "sorted_(unary.INPLACE_UNARY_NAMES)", "sorted_(binary.INPLACE_BINARY_NAMES)")],
]
GRADIENTS = ["x.sum()", "x.mean()", "x.prod()", "x.amax()", "x.sum(1)", "x.std()", "x.exp()", "x * x", "x * 3 + 1", "x.softmax(-1)", "x[0]",
             "x.get_data().exp()", "x.to_tensor(0).exp()", "x.reshape(-1).cos()", "torch.cat([x, x * 2])", "torch.stack([x, x.exp()])",
             "x.t().contiguous() * 2", "x / (x + 20)", "torch.masked.sum(x, 1)",
             *[f"{x}{call}" for x in ("x.to_sparse()", "x.to_sparse_csr()") for call in (
                 ".to_dense()", ".sin().to_dense()", "", ".get_data().to_dense()")]]
IN_SPARSE = [f"{layout}: {call}" for layout in ("to_sparse", "to_sparse_csr") for call in (
    "x.to_dense().sum()", "x.sum()", "x.mean()", "x.prod()", "x.exp().sum()", "(x * x).to_dense().sum()", "x.amax()",
    "x.get_data().to_dense().sum()")]


def _told(value: Any) -> Any:
    """Numbers of tensors with three digits, so that sums in another order are the same; all else as text."""
    if type(value).__name__ == "Tensor" and str(value.layout) == "torch.sparse_coo":
        return ["coordinates", value.is_coalesced(), list(value.shape), _told(value._indices()), _told(value._values())]
    if type(value).__name__ == "Tensor" and str(value.layout) == "torch.sparse_csr":
        return ["rows", list(value.shape), _told(value.crow_indices()), _told(value.col_indices()), _told(value.values())]
    if type(value).__name__ == "Tensor":
        numbers = value.detach().reshape(-1).tolist()
        return [str(value.dtype)[6:], list(value.shape), [x if isinstance(x, bool) else _rounded(x) for x in numbers]]
    return repr(value).replace("-0.0000", " 0.0000")


def _rounded(x: Any) -> Any:
    return [_rounded(x.real), _rounded(x.imag)] if isinstance(x, complex) else str(x) if not math.isfinite(x) else float(f"{x:.3g}") + 0.0


def _outcome(torch: Any, name: str) -> Any:
    kind, _, code = name.partition(": ")
    d = torch.arange(12.).reshape(3, 4) - 5.5
    mask = torch.arange(12).reshape(3, 4) % 3 != 0
    mask[1] = False
    def sparse(layout: str, requires_grad: bool = False) -> Any:
        inside = getattr(mask, layout)()
        return torch.masked.masked_tensor(d.sparse_mask(inside), inside, requires_grad)

    places = {"torch": torch, "mask": mask, "d": d, "M": lambda: torch.masked.masked_tensor(d.clone(), mask), "S": sparse,
              "full": torch.ones(3, 4, dtype=torch.bool), "maskedtensor": torch.masked.maskedtensor, "core": torch.masked.maskedtensor.core,
              "sorted_": sorted}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind in DTYPES:
                places["x"] = x = (d * 0.5).to(getattr(torch, kind)).requires_grad_(kind in ("float64", "complex128"))
                y = eval(code, places)
                if not y.requires_grad:
                    return _told(y)
                y.abs().sum().backward()
                return [_told(y), _told(x.grad)]
            if kind == "gradient":
                places["x"] = x = torch.masked.masked_tensor(d, mask, True)
                eval(code, places).sum().backward()
                return _told(x.grad)
            if kind.startswith("to_sparse"):
                places["x"] = x = sparse(kind, True)
                eval(code, places).backward()
                return [_told(x.grad), _told(x.grad.get_data())]
            return _told(eval(code, places))
        except Exception as error:  # what torch refuses is part of the table
            return [type(error).__name__, str(error).splitlines()[0].partition(" This could be because")[0].replace("torchcompat", "torch")]


def _cases() -> list[str]:
    calls = [f"{dtype}: torch.masked.{name}(x, {'2, ' * (name in ('norm', 'normalize'))}{dim}, mask={mask})"
             for name in FUNCTIONS for dtype in DTYPES for dim, mask in [*[(0, m) for m in MASKS.values()], (1, "mask")]]
    pairs = [f"{dtype}: torch.masked.logaddexp(x, x + 1, input_mask=mask, other_mask=mask[:1])" for dtype in DTYPES]
    return [*calls, *pairs, *[f"tensor: {code}" for code in OF_TENSORS], *[f"gradient: {code}" for code in GRADIENTS],
            *[f"tensor: {code}" for code in SPARSE], *IN_SPARSE]


TABLE = Table("masked", _cases(), _outcome, tolerance=(1e-2, 1e-3), zipped=True)
