"""Modules that are exported for several sizes, and calls at others."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tests.recording import Table, attempted

SETTING = """
class Sizes(nn.Module):
    def forward(self, x, y):
        b = x.size(0)
        return x.reshape(b * 2, -1), y + b, x.view(-1), torch.zeros(b, 3), x.unsqueeze(0).expand(2, -1, -1)
class Rows(nn.Module):
    def forward(self, x, y):
        b, s, _ = x.shape
        return (x + y).reshape(b * s, 4).view(b, s, 2, 2).transpose(1, 2), torch.arange(s) + b, x[0].sum(1)
class Fixed(nn.Module):
    def forward(self, x):
        return x.reshape(3, 4) + 1
class Sum(nn.Module):
    def forward(self, x, y):
        return x + y
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.lin = nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.Linear(2, 3)
    def forward(self, x):
        return self.lin(F.adaptive_avg_pool2d(F.relu(self.norm(self.conv(x))), 1).flatten(1))
class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(4, 4)
    def forward(self, x):
        b, s, e = x.shape
        q = self.q(x).view(b, s, 2, 2).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(b, s, e)
B, S = Dim('batch', min=2, max=64), Dim('steps')
x, y, rows = torch.arange(12.).reshape(3, 4), torch.ones(5), torch.arange(24.).reshape(2, 3, 4)
"""

#: What is exported, its arguments, what is said of sizes, the arguments of calls.
CASES = {
    "one size": ("Sizes()", "(x, y)", "{'x': {0: B}, 'y': None}", ["(torch.ones(7, 4), y)", "(torch.ones(65, 4), y)",
                                                                  "(torch.ones(7, 5), y)", "(torch.ones(7, 4), torch.ones(6))"]),
    "by position": ("Sizes()", "(x, y)", "({0: Dim.DYNAMIC}, None)", ["(torch.ones(9, 4), y)"]),
    "two sizes": ("Rows()", "(rows, rows)", "({0: B, 1: S}, {0: B, 1: S})", ["(torch.ones(5, 7, 4), torch.ones(5, 7, 4))",
                                                                            "(torch.ones(5, 7, 4), torch.ones(5, 8, 4))"]),
    "as it comes": ("Sum()", "(x, x + 1)", "({0: Dim.AUTO}, {0: Dim.AUTO})", ["(torch.ones(6, 4), torch.ones(6, 4))"]),
    "a network": ("Net().eval()", "(torch.ones(3, 1, 4, 4),)", "({0: B},)", ["(torch.ones(5, 1, 4, 4),)"]),
    "heads": ("Heads()", "(rows,)", "({0: B, 1: S},)", ["(torch.ones(4, 6, 4),)"]),
    "a fixed size": ("Fixed()", "(x,)", "({0: B},)", []),
    "another name": ("Sum()", "(x, x)", "{'z': {0: B}}", []),
    "too few": ("Sum()", "(x, x)", "({0: B},)", []),
    "names": ("", "", "", ["Dim('a')", "Dim('a', min=2, max=5)", "2 * Dim('a') + 1", "Dim('a') - 1", "Dim('a b')", "Dim('a', min=5, max=3)",
                           "torch.export.dims('a', 'b')", "Dim.AUTO", "B.min, B.max, B.__name__"]),
}


def _outcome(torch: Any, case: str) -> Any:
    export = import_module(f"{torch.__name__}.export")
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "Dim": export.Dim}
    torch.manual_seed(0)
    exec(SETTING, names)
    module, args, shapes, calls = CASES[case]
    if not module:
        return [attempted(lambda call=call: repr(eval(call, names))) for call in calls]

    def shown(value: Any) -> Any:
        return [list(value.shape), round(float(value.detach().double().sum()), 3)]

    def run() -> Any:
        program = export.export(eval(module, names), eval(args, names), dynamic_shapes=eval(shapes, names))
        found = []
        for made in (program, program.run_decompositions()):
            found.append([attempted(lambda call=call, made=made: [
                shown(t) for t in torch.utils._pytree.tree_leaves(made.module()(*eval(call, names)))]) for call in calls])
        return [found, [str(bounds) for bounds in program.range_constraints.values()]]

    result = attempted(run)
    if isinstance(result, dict):
        result["text"] = result["text"].split("\nSuggested fixes")[0].split(" For more information about")[0].split("\nFor more")[0]
    return result


TABLE = Table("fx_sizes", CASES, _outcome, tolerance=(1e-3, 2e-3))
