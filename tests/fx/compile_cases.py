"""Programs that compile functions and modules, and what they print."""

from __future__ import annotations

import contextlib
import io
import re
from importlib import import_module
from typing import Any

from tests.recording import Table, attempted

SETTING = """
import copy
x = torch.arange(4.).reshape(2, 2)
def f(x, k=1):
    return x.sin() + k
def taken(module, given, **options):
    print('compiler:', len(given), [tuple(t.shape) for t in given], options)
    return module.forward
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.norm, self.kept = nn.Linear(2, 2), nn.BatchNorm1d(2), 3
    def forward(self, x):
        return self.norm(self.lin(x))
    def other(self):
        return 7
"""

PROGRAMS = {
    "a function": "g = torch.compile(f); print(g(x), g(x, 2), g(x, k=3), g.__name__, g._torchdynamo_orig_callable is f)",
    "a decorator": "@torch.compile(backend='eager', fullgraph=True)\ndef g(x):\n    'words'\n    return x * 2\n"
                   "print(g(x), g.__name__, g.__doc__)",
    "no compiler": "torch.compile(f, backend='nope')",
    "no mode": "torch.compile(f, mode='x')",
    "mode and options": "torch.compile(f, mode='default', options={'a': 1})",
    "no function": "torch.compile(3)",
    "disabled": "print(torch.compile(f, disable=True) is f, torch.compiler.disable(f)(x))",
    "a module": "m = Net(); c = torch.compile(m, backend='eager'); print(c, list(c.state_dict()), [n for n, _ in c.named_modules()])\n"
                "print([n for n, _ in c.named_parameters()], c._orig_mod is m, c.kept, c.other(), isinstance(c, nn.Module))",
    "its attributes": "c = torch.compile(Net(), backend='eager'); c.kept = 5; print(c._orig_mod.kept, 'lin' in dir(c)); c.new = 1\n"
                      "print(c._orig_mod.new); del c.new; print(hasattr(c._orig_mod, 'new'), type(c).__name__)",
    "its training": "m = Net(); c = torch.compile(m, backend='eager'); c.eval(); print(m.training, c.training, m.lin.training); m.train()\n"
                    "print(c.training)",
    "its copy": "c = torch.compile(Net(), backend='eager'); d = copy.deepcopy(c); print(type(d).__name__, d._orig_mod is c._orig_mod)\n"
                "print(d.load_state_dict(c.state_dict()), d(x).shape)",
    "its state": "m = Net(); c = torch.compile(m, backend='eager'); m.load_state_dict(c.state_dict())",
    "a compiler": "g = torch.compile(f, backend=taken); print(g(x)); print(g(x))",
    "its gradients": "g = torch.compile(lambda x: (x * 2).sin().sum(), backend=taken)\ny = x.clone().requires_grad_(); g(y).backward()\n"
                     "print(y.grad)",
    "its changes": "def h(x, y):\n    x.add_(1)\n    return {'x': x * 2, 'n': 3, 'y': [y, None]}\n"
                   "y = x.clone(); print(torch.compile(h, backend=taken)(y, x)); print(y)",
    "its module": "torch.manual_seed(0)\nm = Net(); c = torch.compile(m, backend=taken); c(x); c(x)\n"
                  "print(m.norm.num_batches_tracked, c(x).shape)",
    "its branches": "def h(x):\n    if x.sum() > 0:\n        return x + 1\n    return x - 1\n"
                    "g = torch.compile(h, backend=lambda module, given: module.forward); print(g(x), g(-x))",
    "its steps": "steps = []\ndef h(x):\n    steps.append(1)\n    return x + len(steps)\n"
                 "g = torch.compile(h, backend=lambda module, given: module.forward); print(g(x)); print(g(x)); print(len(steps))",
    "its containers": "def h(cache, x):\n    cache['k'] = torch.cat([cache['k'], x])\n    cache['n'].append(x * 2)\n"
                      "    return cache['k'].sum()\n"
                      "g = torch.compile(h, backend=lambda module, given: module.forward); c = {'k': torch.ones(1), 'n': []}\n"
                      "print(g(c, torch.ones(1)), g(c, torch.ones(1)), c['k'], c['n'])",
    "its statistics": "m = nn.BatchNorm1d(2); c = torch.compile(m, backend=lambda module, given: module)\nc(x); c(x)\n"
                      "print(m.running_mean, m.num_batches_tracked)",
    "an error in it": "def bad(module, given):\n    raise ValueError('no')\ntorch._dynamo.reset()\n"
                      "try:\n    torch.compile(lambda x: x + 1, backend=bad)(x)\nexcept torch._dynamo.exc.BackendCompilerFailed as error:\n"
                      "    print(str(error).splitlines()[:2], type(error.inner_exception))",
    "is_compiling": "print(torch.compiler.is_compiling(), torch.compiler.is_dynamo_compiling(), torch.compiler.is_exporting())\n"
                    "print(torch.compile(lambda x: x + torch.compiler.is_compiling(), backend='eager')(torch.zeros(1)))\n"
                    "print(torch._dynamo.is_compiling())",
    "stances": "@torch.compiler.set_stance('force_eager')\ndef h():\n    return torch.compile(f, backend=taken)(x)\nprint(h())\n"
               "with torch.compiler.set_stance('force_eager'):\n    torch.compile(f, backend=taken)(x)\n"
               "torch.compile(f, backend=taken)(x); torch.compiler.set_stance('force_eager', force_backend='eager')",
    "settings": "c = torch._dynamo.config; print(c.suppress_errors, c.cache_size_limit)\n"
                "with c.patch(suppress_errors=True):\n    print(c.suppress_errors)\nprint(c.suppress_errors)\n"
                "c.bogus",
    "settings that are none": "torch._dynamo.config.bogus = 1",
    "words": "print(torch.compiler.allow_in_graph(f) is f, torch.compiler.assume_constant_result(f) is f, torch.compiler.reset())\n"
             "print(torch._dynamo.mark_dynamic(x, 0), x._dynamo_dynamic_indices, torch._dynamo.graph_break())\n"
             "torch.compiler.allow_in_graph(3)",
    "names of compilers": "torch._dynamo.register_backend(taken, name='taken_here')\n"
                          "print('taken_here' in torch._dynamo.list_backends(), 'inductor' in torch.compiler.list_backends())\n"
                          "print(torch.compile(lambda x: x + 1, backend='taken_here')(x))",
    "arrays": "print(torch.compiler.wrap_numpy(lambda a: a + 1)(x))",
    "a module's own": "m = nn.Linear(2, 2); m.compile(backend='eager'); print(list(m.state_dict()), m(x).shape, type(m).__name__)",
}


def _outcome(torch: Any, case: str) -> Any:
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn}
    torch.manual_seed(0)
    program = PROGRAMS[case].replace("", "")
    written = io.StringIO()

    def run() -> None:
        with contextlib.redirect_stdout(written):
            exec(SETTING + program, names)

    import_module(f"{torch.__name__}._dynamo").reset()
    failed = attempted(run)
    return [re.sub("torchcompat", "torch", written.getvalue()), failed]


TABLE = Table("fx_compile", PROGRAMS, _outcome)
