"""What classes of tensors get of what they override: the types of results, of copies, and what Tensor's own methods do for them."""

from __future__ import annotations

import copy
from typing import Any

from tests.recording import Table, attempted

CLASSES = {
    "plain": "class C(t.Tensor): pass",
    "dispatching": "class C(t.Tensor):\n    @classmethod\n    def __torch_dispatch__(cls, f, types, args=(), kwargs=None):\n"
                   "        seen.append(str(f))\n        return super().__torch_dispatch__(f, types, args, kwargs)",
    "inherited": "class B(t.Tensor):\n    @classmethod\n    def __torch_dispatch__(cls, f, types, args=(), kwargs=None):\n"
                 "        seen.append(str(f))\n        return super().__torch_dispatch__(f, types, args, kwargs)\nclass C(B): pass",
    "switched off": "class C(t.Tensor): __torch_dispatch__ = t._C._disabled_torch_dispatch_impl",
    "unwilling": "class C(t.Tensor): __torch_function__ = t._C._disabled_torch_function_impl",
    "made anew": "class C(t.Tensor):\n    def new_empty(self, shape): return type(self)(t.Tensor(shape))",
    "made otherwise": "class C(t.Tensor):\n    def new_empty(self, shape): return t.Tensor(shape)",
    "parameter": "class C(t.nn.Parameter): pass",
}
ASKED = (
    "type(x + 1).__name__, seen", "type((x * 2).sum()).__name__, seen", "type(x.detach()).__name__", "type(copy.deepcopy(x)).__name__",
    "C.__torch_function__ is t._C._disabled_torch_function_impl", "C.__torch_dispatch__ is t.Tensor.__torch_dispatch__",
    "x.__div__(2).tolist(), x.clone().__idiv__(4).tolist()", "x[0].__nonzero__(), x[0].__long__(), x.__nonzero__()",
)
WRAPPER = """
class C(t.Tensor):
    @staticmethod
    def __new__(cls, e):
        made = t.Tensor._make_wrapper_subclass(cls, e.size())
        made.e = e
        return made
    @classmethod
    def __torch_dispatch__(cls, f, types, args=(), kwargs=None):
        found = f(*[a.e if isinstance(a, C) else a for a in args], **(kwargs or {}))
        return C(found) if WRAPS and isinstance(found, t.Tensor) else found
x = C(t.ones(2))
"""


def outcome(torch: Any, case: str) -> Any:
    """What an expression gives for an instance of a class."""
    name, _, asked = case.partition(": ")
    names: dict[str, Any] = {"t": torch, "copy": copy, "seen": []}
    if name.startswith("wrapper"):
        exec(WRAPPER.replace("WRAPS", str(name.endswith("again"))), names)
    else:
        exec(CLASSES[name], names)
        names["x"] = torch.tensor([1.0, 2.0]).as_subclass(names["C"])

    def said() -> Any:
        found = eval(asked, names)
        return list(found) if isinstance(found, tuple) else found

    return attempted(said)


TABLE = Table("subclass_rules", [*[f"{name}: {asked}" for name in CLASSES for asked in ASKED],
                                 *[f"{name}: type(copy.deepcopy(x)).__name__" for name in ("wrapper", "wrapper again")]], outcome)
