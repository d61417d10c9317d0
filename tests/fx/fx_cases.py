"""Programs about graphs: what they print, and the errors that end them."""

from __future__ import annotations

import contextlib
import io
import operator
import pickle
import re
from typing import Any

from tests.recording import Table

SETTING = """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.w = torch.nn.Linear(3, 3), torch.nn.Parameter(torch.ones(3))
        self.seq = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        self.register_buffer('b', torch.zeros(3))
    def forward(self, x: torch.Tensor, y=2, *, k: float = 3.0):
        z = torch.relu(self.lin(x)) + self.w
        z = self.seq(z).view(-1, 3) * self.b
        z = torch.cat([z, z], dim=0)
        a, b = z.chunk(2, dim=0)
        q = F.dropout(z, 0.5)[:, None, 1:3]
        return {'a': a + 1, 'b': (b, [q.shape, -q]), 'c': torch.max(z, 1)[0], 'd': 1 - a, 'e': z.T, 's': a.size(0), 'm': torch.float16}
def small():
    graph = fx.Graph()
    x = graph.placeholder('x')
    y = graph.call_function(operator.add, (x, 1))
    graph.output((graph.call_method('relu', (y,)), y))
    return graph, x, y
def prog(a, b):
    return torch.relu(a + b) + torch.relu(b + a)
def parts(a, b):
    c = a + b
    d = c * 2
    return d - a
"""

#: What functions of one stand-in are traced to.
TRACED = [
    "1 if x else 2", "[i for i in x]", "len(x)", "f(**x)", "x.sum() > 0 and x", "bool(x)", "int(x)", "range(x)", "1 in x", "str(x)",
    "object()",
    "(lambda a, b: a + b)(*x)", "torch.zeros(x.shape)", "x.foo.bar(1)", "abs(x)", "round(x)", "x @ 2 + 3 ** x // 1", "~x << 1 >> x",
    "x[1, ..., None]",
    "torch.nn.Linear(2, 2)(x)", "x.view(torch.nn.Linear(1, 1))", "F.softmax(x, dim=1)", "F.linear(x, x, bias=None)", "F.layer_norm(x, "
    "(2,))",
    "F.cross_entropy(x, x, reduction='sum')", "torch.stack((x, x), 1)",
    "torch.einsum('ij,jk->ik', x, x)", "torch.einsum('ij,jk->ik', [x, x])", "torch.meshgrid([x, x], indexing='ij')",
    "torch.atleast_2d((x, x))", "torch.block_diag(x, x)", "torch.cartesian_prod(x, x)",
    "torch.sum(x, dim=(1, 2), keepdim=True)", "torch.flatten(x, start_dim=1)",
    "F.interpolate(x, scale_factor=2)", "F.max_pool2d(x, 2)", "F.embedding(x, x)", "torch.split(x, 2)", "F.dropout(x, p=0.1, "
    "training=False)",
    "torch.tensor([1., 2.]) + x", "torch.add(x, 1, alpha=2)", "{x: 1}", "x.a.b.c + 1", "slice(x, 2)", "(x, [x, {'a': x}])", "x == 1",
    "torch.where(x > 0, x, -x)", "torch.einsum('ij->i', x)", "torch.matmul(x, other=x)", "F.pad(x, (1, 1))", "x.to(torch.float16)",
    "torch.ones(2).add(x)", "math.sqrt(x)", "x.requires_grad_(True)", "torch.typename(x)", "torch.is_tensor(x)",
]

PROGRAMS = {
    "a module": "g = fx.symbolic_trace(M()); print(g.code, g.graph, g); print([sorted(n.meta) for n in g.graph.nodes])",
    "its code": "c = fx.symbolic_trace(M()).graph.python_code('self'); print(sorted(c.globals), c._lineno_map, c._prologue_start)",
    "its nodes": "for n in fx.symbolic_trace(M()).graph.nodes: print(n.op, n.name, n.args, n.kwargs, n.type, list(n.users), "
    "n.all_input_nodes, "
                 "n.format_node())",
    "a sequence": "print(fx.Tracer().trace(M().seq))",
    "all arguments": "def h(x, y, *args, k=2, **kw): return x + y + args[0] + kw['a'] + k\nprint(fx.symbolic_trace(h).code, "
                     "fx.symbolic_trace(h, concrete_args={'y': 3}).code)",
    "containers": "g = fx.symbolic_trace(lambda x, d: x + d['a'][0], concrete_args={'d': {'a': (fx.PH, 2)}}); print(g.code, "
                  "g(torch.ones(1), {'a': (torch.ones(1), 2)}))",
    "a way": "print(fx.symbolic_trace(lambda x, d=True: x + 1 if d else x, concrete_args={'d': False}).code)",
    "erase a used node": "small()[0].erase_node(small()[2])",
    "erase": "g, x, y = small(); g.erase_node(y)",
    "other graphs": "g, x, y = small(); y.args = (small()[1],); g.lint()",
    "order": "g, x, y = small(); x.append(y.next); g.lint()",
    "insert": "g, x, y = small()\nwith g.inserting_after(x): z = g.call_function(torch.neg, (x,))\ny.replace_input_with(x, z); "
    "print(g, z < y, y < z)\n"
              "with g.inserting_before(z): g.get_attr('w.b')\nprint(g, len(g.nodes), list(reversed(g.nodes)))",
    "prepend": "g, x, y = small(); n = y.next; y.prepend(n); print(g)",
    "replaced": "g, x, y = small(); z = g.call_function(torch.neg, (x,)); print(y.replace_all_uses_with(z), g, y.users)",
    "arguments": "g, x, y = small(); y.update_arg(0, 5); y.update_kwarg('k', [x, {'a': x}]); y.insert_arg(1, x); print(g, x.users, "
    "type(y.kwargs['k']))",
    "dead code": "g = fx.symbolic_trace(lambda x: (x + 1, torch.neg(x), x)[2]).graph; print(g.eliminate_dead_code(), g)",
    "nothing": "print(fx.GraphModule({}, fx.Graph()).code)", "no nodes": "g = fx.Graph(); g.output(None); print(fx.GraphModule({}, "
    "g).code)",
    "annotations": "import typing; g = fx.Graph(); x = g.placeholder('x', type_expr=typing.Optional[typing.Dict[str, torch.Tensor]]); "
                   "y = g.placeholder('*args'); z = g.call_function(len, (x,), type_expr=int); w = g.call_function(operator.iadd, (x, z)); "
                   "g.call_function(getattr, (x, 'a b')); g.output(w, type_expr=typing.Tuple[int, torch.Tensor]); c = "
    "g.python_code('self'); "
                   "print(c.src, c.globals.keys())",
    "no such target": "fx.GraphModule({'a': 1}, (g := fx.Graph(), g.get_attr('w'))[0])", "no root": "fx.GraphModule(3, fx.Graph())",
    "a function for a name": "fx.Node(fx.Graph(), 'n', 'call_module', 3, (), {})", "a name for a function": "fx.Node(fx.Graph(), 'n', "
    "'call_function', 'a', (), {})",
    "no kind": "fx.Graph().create_node('call', 'a')", "wrap 3": "fx.wrap(3)", "trace 3": "fx.symbolic_trace(3)",
    "immutable list": "fx.immutable_collections.immutable_list([1]).append(2)",
    "immutable dict": "d = fx.immutable_collections.immutable_dict(a=1); print(d, hash(d) is None); d['b'] = 2",
    "interpreter": "class B(fx.Interpreter):\n    def call_function(self, t, a, k): raise "
    "ValueError('boom')\nB(fx.symbolic_trace(M())).run(torch.ones(2, 3))",
    "interpreter without input": "fx.Interpreter(fx.symbolic_trace(M())).run()",
    "interpreted": "x = torch.ones(2, 3); m = M(); g = fx.symbolic_trace(parts); print(fx.Interpreter(g).run(x, x), g(x, x))",
    "transformed": "class T(fx.Transformer):\n    def call_function(self, t, a, k): return super().call_function(torch.sub if t is "
    "operator.add else t, a, k)\n"
                   "print(T(fx.symbolic_trace(parts)).transform().code)",
    "pattern": "g = fx.symbolic_trace(prog); print(fx.replace_pattern(g, lambda x, y: torch.relu(x + y), lambda x, y: "
    "torch.sigmoid(x) * y)); print(g.code)",
    "overlap": "g = fx.symbolic_trace(lambda x: torch.neg(torch.neg(torch.neg(x)))); print(len(fx.replace_pattern(g, "
               "lambda x: torch.neg(torch.neg(x)), lambda x: torch.abs(x)))); print(g.code)",
    "used elsewhere": "g = fx.symbolic_trace(lambda x: (torch.neg(torch.relu(x)), torch.relu(x)) and [y := torch.relu(x), torch.neg(y)]); "
                      "print(len(fx.replace_pattern(g, lambda x: torch.neg(torch.relu(x)), lambda x: x + 1))); print(g.code)",
    "split": "from torch.fx.passes.split_module import split_module\nk = {'add': 0, 'mul': 1, 'sub': 1}\ng = fx.symbolic_trace(parts)\n"
             "s = split_module(g, None, lambda n: k[n.name]); print(s, s.graph, s.submod_1.graph, s(torch.ones(1), torch.ones(1)))",
    "split in a circle": "from torch.fx.passes.split_module import split_module\nk = {'add': 0, 'mul': 1, 'sub': 0}\n"
                         "split_module(fx.symbolic_trace(parts), None, lambda n: k[n.name])",
    "shapes": "from torch.fx.passes.shape_prop import ShapeProp\ng = fx.symbolic_trace(M()); g.eval(); "
    "ShapeProp(g).propagate(torch.ones(2, 3))\n"
              "for n in g.graph.nodes: print(n.name, n.meta.get('tensor_meta'), n.meta['type'].__name__)",
    "copied": "import copy; m = M(); g = fx.symbolic_trace(m); c = copy.deepcopy(g); print(c.code == g.code, c.w is g.w, "
    "torch.equal(c.w, g.w), type(c).__name__)",
    "pickled": "g = fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())); c = "
    "pickle.loads(pickle.dumps(g)); x = torch.ones(1, 2)\n"
               "print(c.code == g.code, torch.equal(c(x), g(x)), c)",
    "codegen": "g = fx.symbolic_trace(parts)\nwith g.graph.on_generate_code(lambda _: lambda body: ['print(1)\\n', *body]): "
    "g.recompile(); print(g.code)\n"
               "g.recompile(); print(g.code)",
    "no module": "g = fx.symbolic_trace(M()); print(g.add_submodule('a.b', torch.nn.ReLU()), g.delete_submodule('a.c'), "
    "g.delete_submodule('a.b'))\n"
                 "g.delete_all_unused_submodules(); del g.lin; g.graph.lint()",
    "found": "g = fx.symbolic_trace(prog).graph; print(g.find_nodes(op='call_function', target=torch.relu), g.output_node(), "
    "g.find_nodes(op='placeholder'))",
    "in words, with shapes": "from torch.fx.passes.shape_prop import ShapeProp\ng = fx.symbolic_trace(lambda x: (x * 2).sum(1))\n"
                             "ShapeProp(g).propagate(torch.ones(2, 3))\n"
                             "text = g.print_readable(print_output=False, include_stride=True)\n"
                             "print([line for line in text.split('\\n') if line.strip()])",
    "in words": "print(fx.symbolic_trace(parts).print_readable(print_output=False))",
    "proxies": "g, x, y = small(); p = fx.Proxy(y); q = (p + 1).foo; print(p, q, g); q + p; print(g)",
    "asserts": "class T(fx.Tracer): trace_asserts = True\ndef f(x):\n    assert x.shape[0] > 2\n    return x\nprint(T().trace(f))",
    "leaves": "class T(fx.Tracer):\n    def is_leaf_module(self, m, name): return "
    "False\nprint(T().trace(torch.nn.ReLU()).find_nodes(op='call_module'))",
    "shadows": "def f(x, input, max): return torch.max(x) + input + max\nprint(fx.symbolic_trace(f).code)",
} | {expression: f"print(fx.symbolic_trace(lambda x: {expression}).code)" for expression in TRACED}


def outcome(torch: Any, case: str) -> Any:
    """What the program prints, and its error."""
    names: dict[str, Any] = {"torch": torch, "fx": torch.fx, "F": torch.nn.functional, "operator": operator, "pickle": pickle,
    "__name__": "cases",
                             "math": __import__("math")}
    printed, error = io.StringIO(), ""
    torch.manual_seed(0)
    text = PROGRAMS[case].replace("from torch.", f"from {torch.__name__}.")
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec(compile(SETTING + text, f"<{case}>", "exec"), names)
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
    return [re.sub("0x[0-9a-f]+", "0x", part.replace("torchcompat", "torch")) for part in (printed.getvalue(), error)]


TABLE = Table("fx", PROGRAMS, outcome)
