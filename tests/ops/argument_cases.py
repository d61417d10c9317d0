"""Calls with arguments that no signature takes, of each function and method of torch that has a parser of arguments: one of a wrong type by
position and by keyword, too many, too few, unknown keywords, elements of lists."""

from __future__ import annotations

import keyword
import re
import warnings
from collections.abc import Iterator
from typing import Any

from tests.recording import Table, attempted
from torchcompat._calls.grammar import Parameter, known, signatures

GIVEN = {"Tensor": "x", "Tensor[]": "[x, x]", "Tensor?[]": "[i, i]", "int": "1", "int[]": "[1]", "float": "0.5", "Scalar": "2",
         "bool": "False", "str": "'mean'", "dtype": "torch.float32",
         "device": "'cpu'", "layout": "torch.strided", "float[]": "[1.0]", "Scalar[]": "[1]",
         "memory_format": "torch.contiguous_format"}
"""An argument of each kind; None of others."""
WRONG = ("'a'", "{}", "[1.5]", "odd", "(1, 'a')", "torch.int64", "['a']")
"""What few parameters take."""
ELSEWHERE = re.compile(r"(?:Tensor\.|nn\.|special\.)?(?:_|cudnn|miopen|mkldnn|fbgemm|quant|from_file|set_$|fake_|q_|int_repr|choose_"
                       r"|\w*backward|embedding_renorm|dequant|gru|lstm|rnn|\w*_rnn|\w*_copy$|data$|resize|retain_grad|requires_grad_)")
"""What is asked of in other tables, or is torch's own business."""
LAYERS = frozenset("avg_pool2d avg_pool3d gelu linear logsigmoid one_hot scaled_dot_product_attention softplus".split())
"""The functions of `torch._C._nn` that have no other function around them."""


def value(p: Parameter) -> str:
    """An argument for a parameter."""
    return "i" if p.name in ("index", "indices") and p.kind == "Tensor" else GIVEN.get(p.kind, "None")


def calls(name: str) -> Iterator[str]:
    """The calls of one function."""
    space, _, own = name.rpartition(".")
    function = f"x.{own}" if space == "Tensor" else f"torch.nn.functional.{own}" if space == "nn" else f"torch.{name}"
    shown = [s for s in signatures(name) or () if not s.hidden]
    for nr, signature in enumerate((shown[0], shown[-1]) if len(shown) > 1 else shown):
        params = signature.params
        given = [value(p) for p in params if not p.keyword_only]
        least = [value(p) for p in params if not p.keyword_only and p.default is None]
        wrong = [WRONG[(len(name) + i) % len(WRONG)] for i in range(len(params))]
        if least:
            yield f"{function}({', '.join(least[:-1])})"
        if not nr:
            yield f"{function}({', '.join([*given, 'odd', 'odd', 'odd'])})"
        for i, p in enumerate(params):
            if i not in (0, 1, len(params) - 1):
                continue
            if not p.keyword_only:
                yield f"{function}({', '.join([*given[:i], wrong[i], *least[i + 1:]])})"
            if p.default is not None and not keyword.iskeyword(p.name):
                yield f"{function}({', '.join([*least, f'{p.name}={wrong[i]}'])})"


def cases(torch: Any) -> list[str]:
    """Those of all functions that torch and torchcompat have."""
    import torchcompat as ours

    def there(name: str) -> bool:
        space, _, own = name.rpartition(".")
        place = {"Tensor": ours.Tensor, "nn": ours.nn.functional, "": ours}.get(space) or getattr(ours, space)
        return hasattr(place, own)

    methods = [f"Tensor.{n}" for n in known() if "." not in n and hasattr(torch.Tensor, n)]
    names = sorted({n for n in (*known(), *methods) if not ELSEWHERE.match(n) and (n[:3] != "nn." or n[3:] in LAYERS) and there(n)})
    return list(dict.fromkeys([call for name in names for call in calls(name)]))


class Odd:
    """What nothing takes."""


def outcome(torch: Any, case: str) -> Any:
    """The error of a call, or that it was taken."""
    names = {"torch": torch, "x": torch.ones(2, 2), "i": torch.tensor([0, 1]), "odd": Odd()}

    def call() -> str:
        eval(case, names)
        return "taken"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = attempted(call)
    return found if isinstance(found, str) or found["error"] == "TypeError" else found["error"]


TABLE = Table("arguments", cases, outcome, zipped=True)
