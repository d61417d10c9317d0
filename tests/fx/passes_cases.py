"""Programs about what is done to graphs: what they print, and the errors that end them."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from tests.recording import Table

SETTING = """
import operator
import torch
from torch import fx, nn
from torch.fx.annotate import annotate
from torch.fx.experimental.const_fold import split_const_subgraphs, get_unique_attr_name_in_module
from torch.fx.experimental.graph_gradual_typechecker import GraphTypeChecker, Refine, broadcast_types
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.rewriter import RewritingTracer
from torch.fx.experimental.unification import Var, unify
from torch.fx.experimental.unify_refinements import infer_symbolic_types_single_pass
from torch.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint
from torch.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise

class Consts(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.a, self.b, self.inner = nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.full((2, 2), 3.)), inner
    def forward(self, x):
        c = self.a + self.b
        return x * c + (c - 1 if self.inner is None else self.inner(self.a))

def typed(annotation, body):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm, self.pool, self.relu = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.MaxPool2d(2), nn.ReLU()
            self.lin, self.mean = nn.Linear(4, 5), nn.AdaptiveAvgPool2d((1, None))
        def forward(self, x, y):
            return body(self, x, y)
    Net.forward.__annotations__ = {'x': annotation, 'y': annotation}
    return fx.symbolic_trace(Net())

def types(traced):
    try:
        print(GraphTypeChecker({}, traced).type_check())
    finally:
        print([(n.name, n.type) for n in traced.graph.nodes])
    infer_symbolic_types_single_pass(traced)
    print([(n.name, n.type) for n in traced.graph.nodes])

def add_to_mul(gm):
    changed = False
    for node in gm.graph.nodes:
        if node.target is operator.add:
            node.target, changed = operator.mul, True
    return PassResult(gm, changed)
def noted(gm):
    print('noted', len(gm.graph.nodes))
def nothing(gm):
    return 3
def local():
    def asserted(x, n: int = 1):
        y: int = x + n
        assert y.sum() > 2, 'small'
        assert y.shape[0] == 2
        z: TensorType((1, Dyn)) = torch.relu(y)
        return z
    return asserted
class Asserted(nn.Module):
    def forward(self, x):
        \"\"\"
        In words.
        \"\"\"
        assert x.sum() > 2, 'small'
        return x
x = torch.arange(4.).reshape(2, 2)
"""

FOLD = "f = split_const_subgraphs({}); print(f.code); print(f.const_subgraph_module and f.const_subgraph_module.code); print(f(x), f(x))"
BODIES = ["s.pool(s.relu(s.norm(s.conv(x))))", "torch.add(x, y)", "x + s.relu(y)", "torch.flatten(s.mean(s.conv(x)), 1, 2)",
          "torch.flatten(x)",
          "s.lin(torch.transpose(x, 1, 3))", "torch.reshape(x, [-1, 4])", "torch.transpose(x, 1, 7)", "s.lin(x)", "x.relu()"]
ANNOTATIONS = ["TensorType((1, 2, 4, 6))", "TensorType((Dyn, 2, Dyn, 4))", "Dyn", "TensorType((2, 3))", "int"]
PROGRAMS: dict[str, str] = {
    "annotates": "f = lambda x: annotate(x + 1, int)\nprint(fx.symbolic_trace(f).graph, annotate(3, int))",
    "annotates twice": "fx.symbolic_trace(lambda x: annotate(annotate(x, int), float))",
    "types": "a, b = TensorType((1, Dyn, 3)), TensorType[1, 2, 3]\nprint(a, b, a == b, TensorType((1, 2, 3)) == b, Dyn, str(Dyn), b.dims)\n"
             "for s in (a, b, Dyn, int, TensorType((2,)), Var(1)):\n    for t in (a, b, Dyn, int):\n"
             "        print(s, t, is_consistent(s, t), is_more_precise(s, t))",
    "broadcasts": "print(broadcast_types(TensorType((2, 1, Dyn)), TensorType((3, 1))), broadcast_types(Dyn, int)); broadcast_types(int, 3)",
    "unifies": "x, y, z = Var('x'), Var('y'), Var('z')\nprint(unify((x, 2, y), (1, y, 2)), unify([x, (y, 3)], [z, (x, z)]),"
               " unify((x, 1), (y,)), unify(x, x), x, repr(x), Var('x') == x)",
    "unifies what differs": "unify((Var(1), Var(1)), (1, 2))",
    "unifies kinds": "print(unify((1,), [1])); unify({}, {1: 1})",
    "folds": FOLD.format("Consts()"),
    "folds submodules": FOLD.format("Consts(nn.Linear(2, 2))").replace("print(f(x), f(x))", "print(f(x).shape)"),
    "folds one": FOLD.format("fx.symbolic_trace(Consts(nn.ReLU()))"),
    "folds nothing": FOLD.format("lambda x: x + 1"),
    "skips": FOLD.replace(")", ", skip_folding_node_fn=lambda n: n.target is operator.add)", 1).format("Consts()"),
    "folds once": "f = split_const_subgraphs(Consts()); f.run_folding(); f.run_folding()",
    "names": "m = fx.symbolic_trace(Consts()); m.a_1 = m._9 = 1\n"
             "print([get_unique_attr_name_in_module(m, n) for n in ('a', 'b', '9', 'x-y', 'a_1')])",
    "rewrites": "g = RewritingTracer().trace(local()); print(g); m = fx.GraphModule(nn.Module(), g); print(m.code, m(x)); m(x[:1])",
    "rewrites modules": "o = Asserted(); g = RewritingTracer().trace(o); m = fx.GraphModule(o, g); print(m.code, m(x)); m(x * 0)",
    "cse": "def f(a, b):\n    c = a + b\n"
           "    return (a + b).sin() * c.sin() + torch.rand_like(a) + torch.rand_like(a) + (a + 1) + (a + 1.0)\n"
           "g = make_fx(f)(x, x)\nr = CSEPass(get_CSE_banned_ops())(g); print(r.modified, r.graph_module.code)\n"
           "print(CSEPass()(r.graph_module).graph_module.code)\nr = CSEPass(get_CSE_banned_ops())(r.graph_module); print(r.modified)",
    "passes": "g = fx.symbolic_trace(lambda a: a + 1)\nm = PassManager([add_to_mul, pass_result_wrapper(noted)], steps=3)\nr = m(g)\n"
              "print(r.modified, r.graph_module.code, type(r).__name__, r)",
    "passes that give nothing": "PassManager([add_to_mul, nothing])(fx.symbolic_trace(lambda a: a + 1))",
    "order": "a, b, c = (lambda i: lambda m: i)(1), add_to_mul, nothing\nt = this_before_that_pass_constraint\n"
             "m = PassManager([a, b, c], [t(c, a), t(b, c)]); m.solve_constraints(); print(m.passes == [b, c, a])\n"
             "m.validate_constraints()\n"
             "m.add_constraint(t(a, b)); m.solve_constraints()",
    "invalid order": "m = PassManager([1, 2], [this_before_that_pass_constraint(2, 1)]); m.validate_constraints()",
    "checks": "def small(m):\n    if len(m.graph.nodes) > 2: raise ValueError('large')\n"
              "m = PassManager([add_to_mul], run_checks_after_each_pass=True); m.add_checks(small); m(fx.symbolic_trace(lambda a: a + 1))",
    "checks of two": "PassManager().add_checks(lambda a, b: None)",
    "a pass": "class P(PassBase):\n    def requires(self, m): print('requires')\n    def call(self, m): return PassResult(m, True)\n"
              "    def ensures(self, m): print('ensures')\nprint(P()(fx.symbolic_trace(lambda a: a)).modified); PassBase()",
} | {f"{body} of {annotation}": f"types(typed({annotation}, lambda s, x, y: {body}))"
     for body, annotation in itertools.product(BODIES, ANNOTATIONS)}


def outcome(torch: Any, case: str) -> Any:
    """What the program prints, and its error."""
    return carried_out(torch, SETTING + PROGRAMS[case])


def carried_out(torch: Any, program: str) -> list[str]:
    """What a program, a file, prints, and its error."""
    printed, error = io.StringIO(), ""
    torch.manual_seed(0)
    text = re.sub(r"\btorch\.fx|\bfrom torch\b|^import torch$", lambda m: m[0].replace("torch", torch.__name__), program,
                  flags=re.MULTILINE).replace(f"import {torch.__name__}\n", f"import {torch.__name__} as torch\n", 1)
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        (path := Path(folder) / "program.py").write_text(text)
        spec = spec_from_file_location("program", path)
        assert spec is not None and spec.loader is not None
        try:
            spec.loader.exec_module(module_from_spec(spec))
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
    return [re.sub("0x[0-9a-f]+", "0x", part.replace("torchcompat", "torch")) for part in (printed.getvalue(), error)]


TABLE = Table("fx_passes", PROGRAMS, outcome)
