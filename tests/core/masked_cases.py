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
GRADIENTS = ["x.sum()", "x.mean()", "x.prod()", "x.amax()", "x.sum(1)", "x.std()", "x.exp()", "x * x", "x * 3 + 1", "x.softmax(-1)", "x[0]",
             "x.get_data().exp()", "x.to_tensor(0).exp()", "x.reshape(-1).cos()", "torch.cat([x, x * 2])", "torch.stack([x, x.exp()])",
             "x.t().contiguous() * 2", "x / (x + 20)", "torch.masked.sum(x, 1)"]


def _told(value: Any) -> Any:
    """Numbers of tensors with three digits, so that sums in another order are the same; all else as text."""
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
    places = {"torch": torch, "mask": mask, "d": d, "M": lambda: torch.masked.masked_tensor(d.clone(), mask)}
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
            return _told(eval(code, places))
        except Exception as error:  # what torch refuses is part of the table
            return [type(error).__name__, str(error).splitlines()[0].replace("torchcompat", "torch")]


def _cases() -> list[str]:
    calls = [f"{dtype}: torch.masked.{name}(x, {'2, ' * (name in ('norm', 'normalize'))}{dim}, mask={mask})"
             for name in FUNCTIONS for dtype in DTYPES for dim, mask in [*[(0, m) for m in MASKS.values()], (1, "mask")]]
    pairs = [f"{dtype}: torch.masked.logaddexp(x, x + 1, input_mask=mask, other_mask=mask[:1])" for dtype in DTYPES]
    return [*calls, *pairs, *[f"tensor: {code}" for code in OF_TENSORS], *[f"gradient: {code}" for code in GRADIENTS]]


TABLE = Table("masked", _cases(), _outcome, tolerance=(1e-2, 1e-3), zipped=True)
