"""Modules and the programs that they are exported as."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from tests.recording import Table, attempted

SETTING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.lin = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Linear(8, 4)
        self.ln, self.drop = nn.LayerNorm(4), nn.Dropout(0.1)
        self.register_buffer('count', torch.zeros(1))
        self.k = torch.ones(4)
    def forward(self, x, y=None):
        self.count.add_(1)
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2).flatten(1)
        x = self.drop(self.ln(self.lin(x)))
        return {'a': x * 2 + self.k, 'b': [x.softmax(-1), x.sum()]}
class Arguments(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.again = self.lin
        self.register_buffer('scale', torch.ones(3), persistent=False)
    def forward(self, x, d, n, flag=None, *args, k, **kw):
        t = torch.tensor([1., 2., 3.])
        y = self.lin(x) + d['a'] * n + d['b'][0] + args[0] + k + kw['z'] + t + self.again(x) + self.scale
        return y, n, x, None, 'text'
class Changes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('state', torch.zeros(2, 3))
    def forward(self, x):
        self.state[0].mul_(2).add_(1)
        x.add_(1)
        return x + self.state
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.emb = nn.Linear(4, 8), nn.Embedding(5, 4)
    def forward(self, i):
        x = self.emb(i)
        q = self.q(x).view(2, 3, 2, 4).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        return F.gelu(y.transpose(1, 2).reshape(2, 3, 8)).matmul(torch.ones(8, 2))
class Layers(nn.Module):
    def forward(self, x):
        x = F.avg_pool2d(F.group_norm(x, 2), 2)
        a, b = F.pad(x, (1, 1)).chunk(2, dim=1)
        x = torch.cat([F.silu(a), F.adaptive_avg_pool2d(b, (1, 3))], 1)
        x = torch.einsum('nchw,nc->nhw', x, x.mean((2, 3)))
        return F.log_softmax(x, -1), F.cross_entropy(x.flatten(1), torch.tensor([0, 1])), torch.where(x > 0, x, -x)
class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
class Keeps(nn.Module):
    def forward(self, x):
        self.kept = x * 2
        return self.kept
x = torch.arange(6.).reshape(2, 3)
image = torch.arange(36.).reshape(1, 1, 6, 6)
"""

#: What is exported, its arguments, and other arguments for the program.
EXPORTED = {
    "a network": ("Net().eval()", "(image,)", "(image + 1,)"),
    "in training": ("nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True))", "(image,)", "(image + 1,)"),
    "arguments": ("Arguments()", "(x, {'a': x + 1, 'b': [x + 2]}, 5, None, x + 3), {'k': x + 4, 'z': x + 5}",
                  "(x, {'a': x, 'b': [x]}, 5, None, x + 1), {'z': x, 'k': x}"),
    "changes": ("Changes()", "(x,)", "(x + 1,)"),
    "attention": ("Attention()", "(torch.tensor([[0, 1, 2], [2, 3, 4]]),)", "(torch.tensor([[4, 1, 2], [2, 3, 3]]),)"),
    "layers": ("Layers()", "(image.reshape(2, 2, 3, 3).repeat(1, 2, 1, 1)[..., :2, :],)",
               "(1 - image.reshape(2, 2, 3, 3).repeat(1, 2, 1, 1)[..., :2, :],)"),
    "keeps": ("Keeps()", "(x,)", "(x + 1,)"),
    "another size": ("nn.Linear(3, 2)", "(x,)", "(x[:1],)"),
    "another size inside": ("Arguments()", "(x, {'a': x + 1, 'b': [x + 2]}, 5, None, x + 3), {'k': x + 4, 'z': x + 5}",
                            "(x, {'a': x[:, :2], 'b': [x]}, 5, None, x), {'z': x, 'k': x}"),
    "another number": ("Arguments()", "(x, {'a': x + 1, 'b': [x + 2]}, 5, None, x + 3), {'k': x + 4, 'z': x + 5}",
                       "(x, {'a': x, 'b': [x]}, 6, None, x), {'z': x, 'k': x}"),
    "one argument more": ("nn.Linear(3, 2)", "(x,)", "(x, x)"),
    "no argument": ("nn.Linear(3, 2)", "(x,)", "()"),
    "a function": ("F.relu", "(x,)", "(x,)"),
    "too many arguments": ("nn.Linear(3, 2)", "(x, x)", "(x,)"),
}


def _plain(text: str) -> list[str]:
    """Lines without those that say where in the program the others come from."""
    return [re.sub(r"torchcompat\b", "torch", line) for line in text.split("\n") if line.strip() and not line.strip().startswith("# ")]


def _outcome(torch: Any, case: str) -> Any:
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn}
    torch.manual_seed(0)
    exec(SETTING, names)
    text, arguments, others = EXPORTED[case]
    export = import_module(f"{torch.__name__}.export").export

    def call(function: Any, given: str) -> Any:
        args, kwargs = (*eval(f"({given},)", names), {})[:2]
        result = function(*torch.utils._pytree.tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else v, args), **kwargs)
        return [[round(n, 3) for n in v.detach().double().flatten().tolist()] if isinstance(v, torch.Tensor) else v
                for v in torch.utils._pytree.tree_leaves(result)]

    def exported() -> Any:
        module = eval(text, names)
        args, *kwargs = eval(f"({arguments},)", names)
        program = export(module, args, *kwargs)
        again = program.run_decompositions()
        moved = [value.tolist() for value in module.buffers()]
        return {"program": _plain(str(program)), "code": _plain(program.module().code), "state": list(program.state_dict),
                "constants": list(program.constants), "as it was": moved,
                "changes": [f"{s.kind.name} {s.target}" for s in again.graph_signature.output_specs],
                "call": attempted(lambda: call(program.module(), others)),
                "inner call": attempted(lambda: call(again.module(), others))}

    return attempted(exported)


TABLE = Table("fx_export", EXPORTED, _outcome, tolerance=(1e-3, 2e-3), zipped=True)
