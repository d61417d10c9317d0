"""Segments of a dimension: every reduction, by lengths and by offsets, in four dtypes, with its gradients; and calls that torch refuses."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.recording import Table, attempted

NAN, INF = float("nan"), float("inf")
DATA: dict[str, tuple[list[Any], list[Any], int]] = {
    "row": ([1.0, NAN, 3, 4, 5, 5, 0, -2], [1, 2, 3, 0, 2], 0),
    "zeros": ([0.0, 3, 0, 0, -0.0, 7, INF, NAN, 0], [2, 3, 1, 0, 3], 0),
    "columns": ([[1.0, 1], [NAN, 1], [3, NAN], [4, 0], [3, 2], [4, 3]], [1, 2, 3, 0], 0),
    "rows": ([[1.0, 3, 5, 7], [2, -4, -4, 8]], [[2, 1, 1], [0, 3, 1]], 1),
    "inside": ([[[1.0, 2], [3, 4], [5, 6]], [[7, 9], [10, 11], [12, 13]]], [[2, 1], [3, 0]], 1),
    "long": ([(i * 37 % 101) / 8 for i in range(300)], [1, 250, 49], 0),
}
REDUCTIONS = ("sum", "mean", "max", "min", "prod")


def reduced(torch: Any, name: str, how: str, dtype: str, initial: float | None) -> list[Any]:
    """Results and gradients, of ones and of other numbers, by lengths and by offsets that leave out the first element."""
    data, lengths, axis = DATA[name]
    cut = torch.tensor(lengths)
    whole = torch.cat([torch.zeros_like(cut[..., :1]), cut], -1).cumsum(-1)
    found = []
    for keywords in ({"lengths": cut}, {"offsets": whole}, {"offsets": whole.clamp(min=1)}, {"lengths": cut[..., :-1], "unsafe": True}):
        x = torch.tensor(data, dtype=getattr(torch, dtype), requires_grad=True)
        y = torch.segment_reduce(data=x, reduce=how, axis=axis - x.ndim, initial=initial, **keywords)
        weights = (torch.arange(y.numel()).reshape(y.shape) - 2).to(y.dtype)
        found.append([y.tolist(), torch.autograd.grad(y, x, weights)[0].tolist(), y.grad_fn.name(), list(y.stride())])
    return found


REDUCED = {f"{name} {how} {dtype} {initial}": (name, how, dtype, initial)
           for name, how, dtype, initial in product(DATA, REDUCTIONS, ("float64", "float32", "bfloat16", "float16"), (None, 2.0))}
TABLE = Table("segments", REDUCED, lambda torch, name: reduced(torch, *REDUCED[name]), tolerance=(1e-5, 1e-6), digits=8, zipped=True)

CALLS = """
segment_reduce(D, "sum")
segment_reduce(D, "most")
segment_reduce(D, "most", lengths=I([4]))
segment_reduce(D, "sum", indices=I([0, 0, 1, 1]))
segment_reduce(D, "sum", indices=I([0, 0, 1, 1]), lengths=I([4]))
segment_reduce(D, "sum", lengths=I([4]), axis=5)
segment_reduce(D, "sum", lengths=I([4]), axis=1)
segment_reduce(D, "sum", lengths=I([4]), axis=-1)
segment_reduce(D, "sum", offsets=I([0, 4]), axis=1)
segment_reduce(D, "sum", lengths=I([[4]]), axis=0)
segment_reduce(D, "sum", lengths=I(4))
segment_reduce(D, "sum", lengths=I([[[4]]]))
segment_reduce(D, "sum", lengths=I([1, 4]))
segment_reduce(D, "sum", lengths=I([5, -1]))
segment_reduce(D, "sum", lengths=I([5, -1]), unsafe=True)
segment_reduce(D, "sum", offsets=I([3, 2, 3]))
segment_reduce(D, "sum", offsets=I([3]))
segment_reduce(D, "sum", offsets=I([]).long())
segment_reduce(D, "sum", lengths=I([]).long())
segment_reduce(D, "sum", lengths=I([]).long(), unsafe=True)
segment_reduce(D, "sum", lengths=I([2]), unsafe=True)
segment_reduce(D, "sum", lengths=I([9]), offsets=I([0, 4]))
segment_reduce(D, "sum", lengths=I([4.0]))
segment_reduce(D, "sum", lengths=I([4], dtype=torch.int8))
segment_reduce(D, "sum", lengths=I([4], dtype=torch.int32))
segment_reduce(D, "sum", offsets=I([0, 4], dtype=torch.int16))
segment_reduce(D, "sum", offsets=I([0, 4.0]))
segment_reduce(D.long(), "sum", lengths=I([4]))
segment_reduce(D.bool(), "sum", lengths=I([4]))
segment_reduce(D.to(torch.complex64), "sum", lengths=I([4]))
segment_reduce(D, "sum", lengths=I([4]), initial=1j)
segment_reduce(D, "sum", lengths=I([4]), initial=True)
segment_reduce(D.half(), "sum", lengths=I([4]), initial=1e6)
segment_reduce(I(1.0), "sum", lengths=I([1]))
segment_reduce(I(1.0), "sum", lengths=I(1))
segment_reduce(D[:0], "mean", lengths=I([0, 0]))
segment_reduce(D[:, :0], "max", lengths=I([1, 3]))
segment_reduce(D, axis=0, reduce="mean", offsets=I([0, 2, 4]))
segment_reduce("mean", D, offsets=I([0, 2, 4]))
segment_reduce(D.to("meta"), "mean", lengths=I([4, 0]).to("meta"))
segment_reduce(D.t(), "max", lengths=I([1, 2])).stride()
segment_reduce(D.requires_grad_(), "sum", lengths=I([4])).grad_fn._saved_data
twice(lambda x: torch.segment_reduce(x, "prod", lengths=I([4])), D)
""".strip().splitlines()


def called(torch: Any, line: str) -> Any:
    """What a call gives, as text, or its error."""
    def twice(function: Any, x: Any) -> Any:
        x.requires_grad_()
        first = torch.autograd.grad(function(x).sum(), x, create_graph=True)[0]
        return first.grad_fn.name(), attempted(lambda: torch.autograd.grad(first.sum(), x))

    data = torch.arange(12.0).reshape(4, 3)
    names = {"segment_reduce": torch.segment_reduce, "torch": torch, "D": data, "I": torch.tensor, "twice": twice}
    return attempted(lambda: str(eval(line, names)))


REFUSED = Table("segment_calls", CALLS, called)
