"""Functions and the graphs of the operations of ATen that they carry out."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tests.recording import Table, attempted

SETTING = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)
    def forward(self, x):
        return F.max_pool2d(self.norm(self.conv(x)), 2).flatten(1)
def sgd(w):
    w = w.detach().requires_grad_()
    (w.sin() * 2).sum().backward()
    return w.grad
def stepped(x):
    y = x.clone()
    y.add_(1)
    y[0].mul_(2)
    return y, x
def rule(x):
    return x.cos()
x, w = torch.arange(12.).reshape(3, 4), torch.ones(5, 4, requires_grad=True)
image = torch.arange(36.).reshape(1, 1, 6, 6)
outside = torch.full((4,), 2.)
"""

#: What is traced, its arguments, and arguments of `make_fx`.
TRACED = {
    "operators": ("lambda x: torch.sin(x) + 1", "(x,)"),
    "two arguments": ("lambda x, w: F.linear(x, w).sum()", "(x, w)"),
    "no tensor": ("lambda x, n: x + n", "(x, 3)"),
    "containers": ("lambda d: (d['a'] + d['b'][0], {'s': d['a']})", "({'a': x, 'b': [x, x]},)"),
    "several outputs": ("lambda x: torch.softmax(x, -1).max(dim=1)", "(x,)"),
    "parts": ("lambda x: x.chunk(2, dim=1)[0]", "(x,)"),
    "in place": ("stepped", "(x,)"),
    "from outside": ("lambda x: x + outside + outside", "(x,)"),
    "factories": ("lambda x: x + torch.ones(4)", "(x,)"),
    "numbers": ("lambda x: x + torch.tensor([1., 2., 3., 4.])", "(x,)"),
    "a known number": ("lambda x: x * (torch.tensor(3.) + 1).item()", "(x,)"),
    "indices": ("lambda x: x[torch.tensor([0, 1])][:, 1:3]", "(x,)"),
    "another dtype": ("lambda x: x.to(torch.float64)", "(x,)"),
    "gradients": ("lambda x, w: torch.autograd.grad(F.linear(x, w).tanh().sum(), w)", "(x, w)"),
    "backward": ("sgd", "(x,)"),
    "func.grad": ("torch.func.grad(lambda x: (x.sin() * 2).sum())", "(x,)"),
    "vmap": ("torch.func.vmap(lambda x: x.sin() * 2)", "(x,)"),
    "a module": ("Net().eval()", "(image,)"),
    "a module in training": ("Net()", "(image,)"),
    "attention": ("lambda q: F.scaled_dot_product_attention(q, q, q)", "(image,)"),
    "other arguments": ("lambda *xs: xs[0] + xs[1]", "(x, x)"),
    "nothing": ("lambda x: None", "(x,)"),
    "a rule": ("lambda x: x.sin() + 1", "(x,), {torch.ops.aten.sin.default: rule}"),
    "a branch": ("lambda x: x if x.sum() > 0 else -x", "(x,)"),
    "a value": ("lambda x: x.sum().item()", "(x,)"),
    "a mode that is none": ("lambda x: x", "(x,), None, 'bogus'"),
}


def _outcome(torch: Any, case: str) -> Any:
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    torch.manual_seed(0)
    exec(SETTING, names)
    function, given = TRACED[case]
    f, (args, *options) = eval(function, names), eval(f"({given},)", names)
    make_fx = import_module(f"{torch.__name__}.fx.experimental.proxy_tensor").make_fx

    def traced() -> Any:
        made = make_fx(f, *options)(*args)
        others = [torch.nn.functional.normalize(a.detach()) if isinstance(a, torch.Tensor) else a for a in args]
        expected, found = [torch.utils._pytree.tree_leaves(g(*others)) for g in (f, made)]
        equal = [torch.allclose(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(expected, found)]
        notes = [[str(n.meta["val"].dtype), list(n.meta["val"].shape), list(n.meta["val"].stride())] for n in made.graph.nodes
                 if isinstance(n.meta.get("val"), torch.Tensor)]
        return {"code": made.code.strip(), "as f": equal, "notes": notes}

    return attempted(traced)


TABLE = Table("fx_capture", TRACED, _outcome)
