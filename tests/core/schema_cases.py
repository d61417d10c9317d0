"""The schemas of ATen's overloads that records have, as torch writes them; and what classes of tensors share with what they look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.recording import Table, attempted

CLASSES = """
torch.ops.aten.add.foo
torch.ops.aten.add.Tensor(x, x, out=x)
torch.ops.aten.add.Tensor(x)
torch.ops.aten.add.Tensor(x, 1, 2, 3)
torch.ops.aten.add.Tensor(x, 'a')
torch.ops.aten.add.Tensor(self=x, other=x).tolist()
torch.ops.aten.linear.default.decompose(torch.ones(2, 2), torch.ones(2, 2)).tolist()
torch.ops.aten.add.Tensor.decompose(x, x) is NotImplemented
torch.ops.aten.add.op.__module__
[str(s) for s in torch._C._jit_get_schemas_for_operator('aten::relu')]
torch._C._jit_get_schemas_for_operator('aten::nothing')
torch._C._get_schema('aten::nothing', '')
torch._C._overlaps([x], [x[:1]]), torch._C._overlaps(x, x + 1), torch._C._is_alias_of(x, x[1:]), torch._C._is_alias_of([], x)
torch.is_floating_point(3)
torch.numel(Like()), torch.linalg.svd(Like()), torch.bernoulli(Like()), torch.nn.functional.gumbel_softmax(Like())
torch.autograd.grad(Like(), Like())
torch.overrides.resolve_name(torch.add), torch.overrides.resolve_name(torch.ops.aten.add.Tensor), torch.overrides.resolve_name(len)
torch.add in torch.overrides.get_overridable_functions()[torch], torch.zeros in torch.overrides.get_ignored_functions()
leaf.as_subclass(Sub).is_leaf, torch.autograd.grad((leaf.as_subclass(Sub) * 2).sum(), leaf)[0].tolist()
torch.autograd.grad(torch.Tensor(leaf * 3).sum(), leaf)[0].tolist(), torch.autograd.grad(Sub(leaf).sum(), leaf)[0].tolist()
type(Sub(x)).__name__, Sub(x)._base is x, Sub(x)._is_view(), type((Sub(x) * 2).grad_fn).__name__
""".strip().splitlines()


def cases(torch: Any) -> Iterator[str]:
    """What is evaluated, and the full names of overloads that torch has, too."""
    from torchcompat._library.schemas import forms

    yield from CLASSES
    known = {(s.name, s.overload_name) for s in torch._C._jit_get_all_schemas()}
    for name, overloads in forms().items():
        yield from [f"{name}.{o or 'default'}" for o in overloads if (f"aten::{name}", o) in known]


def outcome(torch: Any, case: str) -> Any:
    """What an expression gives or refuses, or the schema of an overload."""
    if " " not in case and "(" not in case and not case.startswith("torch"):
        name, _, overload = case.rpartition(".")
        return attempted(lambda: str(getattr(getattr(torch.ops.aten, name), overload)._schema))

    class Like:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func.__name__

    names = {"torch": torch, "x": torch.ones(2), "leaf": torch.ones(2, requires_grad=True), "Like": Like,
             "Sub": type("Sub", (torch.Tensor,), {})}
    return attempted(lambda: str(eval(case, names)))


TABLE = Table("schemas", cases, outcome, zipped=True)
