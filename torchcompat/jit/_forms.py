"""How operations are written in TorchScript's files: ATen's names, its order of arguments, numbers for dtypes and reductions.

Most operations have ATen's parameters in ATen's order. `FORMS` says what others are called, and in which order their arguments stand;
`_operators.FOREIGN` is what has no counterpart in ATen.
"""

from __future__ import annotations

from typing import Any

from autograd_tape.dtypes import Device, DType

import torchcompat as torch

from . import _operators

FORMS: dict[str, tuple[str, str]] = {
    "batch_norm": ("batch_norm", "input weight bias running_mean running_var training momentum eps True"),
    "instance_norm": ("instance_norm", "input weight bias running_mean running_var use_input_stats momentum eps True"),
    "dropout": ("dropout", "input p training"), "alpha_dropout": ("alpha_dropout", "input p training"),
    "feature_alpha_dropout": ("feature_alpha_dropout", "input p training"),
    **{f"dropout{n}d": ("feature_dropout", "input p training") for n in (1, 2, 3)},
    "embedding": ("embedding", "weight input padding_idx scale_grad_by_freq sparse"),
    "cross_entropy": ("cross_entropy_loss", "input target weight reduction ignore_index label_smoothing"),
    "nll_loss": ("nll_loss_nd", "input target weight reduction ignore_index"),
    "binary_cross_entropy_with_logits": ("binary_cross_entropy_with_logits", "input target weight pos_weight reduction"),
    "logsigmoid": ("log_sigmoid", "input"), "softmax": ("softmax", "input dim dtype"), "log_softmax": ("log_softmax", "input dim dtype"),
    "mse_loss": ("mse_loss", "input target reduction"), "l1_loss": ("l1_loss", "input target reduction"),
    "cast": ("to", "input dtype"), "contiguous": ("contiguous", "input"),
}
"""By public names: the name in ATen, and the parameters in ATen's order. What is left out says nothing there."""
_DROPPED = ("_stacklevel", "inplace", "return_indices", "size_average", "reduce", "out", "requires_grad", "as_tuple", "pin_memory")
_DEFAULTS = {"padding_idx": "-1", "reduction": "1", "stride": "annotate(List[int], [])"}
"""What is written where ATen wants an argument that was not given, and a parameter has another default, or none."""


def defaults_of(params: Any) -> dict[str, str]:
    """The defaults of parameters, as they are written."""
    found = {}
    for p in params:
        if p.has_default and p.name not in _DEFAULTS:
            try:
                found[p.name] = written(p.default)
            except LookupError:
                continue
    return found


def written(value: object) -> str:
    """A constant in the language. LookupError: it is none."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(value) if abs(value) < float("inf") else "nan" if value != value else "inf" if value > 0 else "-inf"
    if isinstance(value, complex):
        return repr(value)
    if isinstance(value, (DType, torch.layout, torch.memory_format)):
        return str(_operators.number_of(value))
    if isinstance(value, Device):
        return f'torch.device("{value}")'
    if isinstance(value, list):
        return f"[{', '.join([written(x) for x in value])}]"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"({', '.join([written(x) for x in value])}{',' * (len(value) == 1)})"
    raise LookupError(f"{type(value).__name__} {value!r:.60}")


def reduction(text: str) -> str:
    """The number of a reduction that is written as a string."""
    name = text.strip("'\"")
    return str(_operators.REDUCTIONS.index(name)) if name in _operators.REDUCTIONS else text


def spelled(name: str, space: str, params: list[tuple[str, bool]], given: dict[str, str], defaults: dict[str, str],
            inplace: bool = False) -> str:
    """A call of an operation.

    Args:
        name, space: the public name and the namespace of its record.
        params: its parameters, and whether they are only taken by keyword.
        given: the arguments as they are written, but for those that are left at their defaults.
        defaults: these, as they are written.
        inplace: whether it is the variant with an underscore.
    """
    inplace = inplace or given.get("inplace") == "True"
    bounded = name == "embedding" and given.get("max_norm", "None") != "None"
    if name in _operators.FOREIGN or bounded or given.get("return_indices") == "True":
        listed = ", ".join([given[n] if not key else f"{n}={given[n]}" for n, key in _order(params, given)])
        return f"ops.torchcompat.{name}({listed})"
    if given.get("padding_idx") == "None":
        given = given | {"padding_idx": "-1"}
    if "reduction" in given:
        given = given | {"reduction": reduction(given["reduction"])}
    called, order = FORMS.get(name, (name, ""))
    if space == "special" and not name.startswith("special_"):
        called = f"special_{name}"
    if inplace:
        called += "_"
    out = f", out={given['out']}" if "out" in given else ""
    if order:
        wanted = order.split()
        return f"torch.{called}({', '.join([n if n == 'True' else given.get(n) or _DEFAULTS.get(n) or defaults[n] for n in wanted])}{out})"
    listed = ", ".join([given[n] if not key else f"{n}={given[n]}" for n, key in _order(params, given)])
    return f"torch.{called}({listed}{out})"


def _order(params: list[tuple[str, bool]], given: dict[str, str]) -> list[tuple[str, bool]]:
    """The parameters of what is given, and whether they are written by keyword: from the first on that is left out, all are."""
    found, gap = [], False
    for name, keyword in params:
        if name in _DROPPED:
            gap = True
        elif name in given:
            found.append((name, keyword or gap))
        elif not keyword:
            if name == "stride" and not gap and any([n in given for n, _ in params[[p for p, _ in params].index(name):]]):
                given[name] = _DEFAULTS[name]
                found.append((name, False))
            else:
                gap = True
    return found
