"""What programs do with graphs: networks fused, measured, cut into stages, watched and put together for compilers."""

from __future__ import annotations

from typing import Any

from tests.recording import Table

from .passes_cases import carried_out

SETTING = """
import operator
import torch
from torch import fx, nn
from torch.fx.experimental import merge_matmul, normalize, optimization, symbolic_shapes
from torch.fx.passes import graph_manipulation, param_fetch, split_utils
from torch.fx.passes.annotate_getitem_nodes import annotate_getitem_nodes
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupport, OpSupports, any_chain, chain, create_op_support
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.passes.tools_common import FxNetAccFusionsFinder, get_node_target, legalize_graph, stable_topological_sort
from torch.fx.passes.utils import compare_graphs
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions, topo_sort, validate_partition
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions
F = nn.functional

class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv, self.bn, self.drop = nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), nn.Dropout(0.3)
    def forward(self, x):
        y = self.drop(F.elu(self.bn(self.conv(x))))
        y += x
        return y

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.b1, self.b2, self.fc = nn.Conv2d(3, 4, 3), Block(4), Block(4), nn.Linear(4, 2)
    def forward(self, x):
        x = self.b2(self.b1(self.stem(x)))
        return self.fc(x.mean((2, 3)))

net, x = Net().eval(), torch.ones(2, 3, 8, 8)
g = fx.symbolic_trace(net)

class Adds(OperatorSupport):
    def is_node_supported(self, submodules, node):
        return node.op == 'call_function' and node.target in (operator.add, operator.getitem)

def tangle(a, b, c):
    add = a + b
    add_1 = add + b
    add_2 = add_1 + c
    add_3 = add_1 + add_2.relu()
    add_4 = add_3 + add_2
    return add_3, add_4.relu() + add_4

def calls(graph):
    return [n for n in graph.nodes if n.op.startswith('call')]
"""

PROGRAMS = {
    "fused": "f = optimization.fuse(net)\nprint(f.code, torch.allclose(f(x), net(x), atol=1e-5), [n for n, _ in f.named_modules()])\n"
             "print(optimization.remove_dropout(net).code)\nc = calls(g.graph)\n"
             "part = optimization.extract_subgraph(g, c[1:3], [c[0]], [c[2]])\nprint(part.code, part(net.stem(x))[0].shape)",
    "measured": "ShapeProp(g).propagate(x)\ngraph_manipulation.get_size_of_all_nodes(g)\n"
                "print([(n.name, n.meta['type'].__name__, tuple(n.meta['tensor_meta'].shape), n.size_bytes) for n in calls(g.graph)])\n"
                "print([get_node_target(dict(g.named_modules()), n) for n in calls(g.graph)])\n"
                "print(FxNetAccFusionsFinder(g, set(calls(g.graph)))())",
    "stages": "for n in calls(g.graph): n.tag = 'one' if n.name in ('stem', 'b1_conv', 'b1_bn') else 'two'\n"
              "s, names = split_utils.split_by_tags(g, ['one', 'two'], return_fqn_mapping=True)\n"
              "print(s.code, s.one.code, names, torch.equal(s(x), g(x)))\n"
              "print(split_utils.split_by_tags(g, ['one', 'two'], return_tuple=True).code)\nsplit_utils.split_by_tags(g, ['two', 'one'])",
    "stages without tags": "split_utils.split_by_tags(g, ['a'])",
    "one way of calling": "def h(x, y):\n    return torch.add(x, torch.mul(y, 2)) + torch.sub(x, y, alpha=2)\n"
                          "print(normalize.NormalizeOperators(fx.symbolic_trace(h)).transform().code)\n"
                          "class S(nn.Module):\n    def __init__(self): super().__init__(); self.l = nn.Linear(3, 3)\n"
                          "    def forward(self, x): return F.dropout(self.l(x), 0.1, training=False) + F.elu(x)\n"
                          "print(normalize.NormalizeArgs(fx.symbolic_trace(S())).transform().code)",
    "one product": "class M(nn.Module):\n    def __init__(self): super().__init__(); self.w = nn.Parameter(torch.ones(3, 4))\n"
                   "    def forward(self, a, b): return torch.matmul(a, self.w), torch.matmul(b, self.w)\n"
                   "m = merge_matmul.merge_matmul(M())\nprint(m.code, [r.shape for r in m(torch.ones(2, 3), torch.ones(5, 3))])",
    "other targets": "t = fx.symbolic_trace(lambda a, b: torch.mul(a, b) + a)\n"
                     "graph_manipulation.replace_target_nodes_with(t, 'call_function', torch.mul, 'call_function', torch.div)\n"
                     "print(t.code)",
    "patterns": "t = fx.symbolic_trace(lambda p, q: (torch.add(p, q) * 2, torch.add(q, p).relu(), torch.add(p, 3)))\n"
                "def one(x, y): return torch.add(x, y)\n"
                "for m in SubgraphMatcher(fx.symbolic_trace(one).graph).match(t.graph):\n"
                "    print(m.anchors, m.nodes_map, m.placeholder_nodes, m.returning_nodes)\n"
                "print([len(m.nodes_map) for m in SubgraphMatcher(fx.symbolic_trace(lambda x: torch.add(x, 1)).graph,\n"
                "                                                ignore_literals=True).match(t.graph)])\n"
                "print(compare_graphs(t.graph, t.graph), compare_graphs(g.graph, t.graph))\nSubgraphMatcher(fx.Graph())",
    "patterns of several results": "def f(a, b):\n    c = a - b\n    return torch.sigmoid(c) + torch.relu(c)\n"
                                   "def old(a, b):\n    c = a - b\n    return torch.sigmoid(c), torch.relu(c), c\n"
                                   "def new(a, b):\n    d = torch.abs(b)\n    return d, d, torch.exp(a)\n"
                                   "t = fx.symbolic_trace(f)\nprint(len(fx.replace_pattern(t, old, new)), t.code)\n"
                                   "r = fx.subgraph_rewriter.replace_pattern_with_filters(\n"
                                   "    t, lambda a: torch.abs(a), lambda a: torch.neg(a), [lambda m, g, p: len(m.nodes_map) == 2])\n"
                                   "print(r, t.code)\nfx.replace_pattern(t, lambda a: torch.neg(a), lambda a, b: a + b)",
    "partitions": "for single in (True, False):\n    for near in (True, False):\n        t = fx.symbolic_trace(tangle)\n"
                  "        p = CapabilityBasedPartitioner(t, Adds(), allows_single_node_partition=single, skip_horizontal_fusion=near)\n"
                  "        parts = p.propose_partitions()\n        print([(q.id, q) for q in parts], p.fuse_partitions(parts).code)\n"
                  "print(Partition(1, calls(t.graph)[:1], [3]).size())\nPartition(1, calls(t.graph)[:2], [3])",
    "nodes put together": "t = fx.symbolic_trace(tangle)\nn = {n.name: n for n in t.graph.nodes}\n"
                          "print(validate_partition([n['add'], n['add_1']]), validate_partition([n['add'], n['add_2']]))\n"
                          "print(topo_sort([n['add_2'], n['add'], n['add_1']]))\n"
                          "print(fuse_by_partitions(t, [{n['add']: None, n['add_1']: None}], always_return_tuple=True).code)\n"
                          "t = fx.symbolic_trace(tangle)\nn = {n.name: n for n in t.graph.nodes}\n"
                          "fuse_by_partitions(t, [{n['add_2']: None, n['add_3']: None}])",
    "what is taken": "t = fx.symbolic_trace(lambda a, b: torch.relu(a + b))\nShapeProp(t).propagate(torch.ones(2), torch.ones(2))\n"
                     "s = OperatorSupport({'torch.relu': (([torch.float32],), {}), '_operator.add': (([torch.int8], None), {})})\n"
                     "d, e = OpSupports.decline_if_input_dtype(torch.float32), OpSupports.decline_if_node_in_names({'add'})\n"
                     "n = create_op_support(lambda m, n: n.op == 'output')\n"
                     "for one in (s, d, e, n, chain(s, e), any_chain(s, e)):\n"
                     "    print([one.is_node_supported({}, n) for n in t.graph.nodes if n.op != 'placeholder'])",
    "order": "legalize_graph(g)\nprint(list(g.graph.nodes))\nstable_topological_sort(g)\nprint(list(g.graph.nodes))\n"
             "a, b = calls(g.graph)[:2]\na.args = (b,)\nlegalize_graph(g)",
    "noted for compilers": "s = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))\n"
                           "param_fetch.lift_lowering_attrs_to_nodes(s)\n"
                           "print([(n.name, sorted(n.attrs_for_lowering)) for n in calls(s.graph)])\n"
                           "param_fetch.extract_attrs_for_lowering(nn.Tanh())",
    "sources": "found = get_source_partitions(g.graph, [nn.Conv2d, nn.Linear, Block])\n"
               "for p in found[Block]:\n"
               "    print(p.nodes, p.source.__name__, *[sorted(map(str, ns)) for ns in (p.input_nodes, p.output_nodes, p.params)])\n"
               "t = fx.symbolic_trace(lambda a: a.relu() + a.neg())\nc = calls(t.graph)\n"
               "for n in c: n.meta['source_fn_stack'] = [(n.op, n.op)]\n"
               "found = get_source_partitions(t.graph, ['call_method', 'call_function'])\nprint(list(found))\n"
               "print(check_subgraphs_connected(found['call_method'][0], found['call_function'][0]))",
    "types of parts": "t = fx.symbolic_trace(lambda a: a[0] + a[1])\nnext(iter(t.graph.nodes)).type = tuple[int, float]\n"
                      "annotate_getitem_nodes(t.graph)\nprint(t.graph)",
    "in place": "def f(x):\n    x += 1\n    x -= x\n    x *= 2\n    x |= 3\n    return x\nprint(fx.symbolic_trace(f).code)",
    "kept notes": "class T(fx.Tracer):\n    record_stack_traces = True\ng = fx.GraphModule(net, T().trace(net))\n"
                  "print([n.stack_trace is not None for n in fx.Transformer(g).transform().graph.nodes])\n"
                  "with fx.traceback.annotate({'a': 1}):\n    print(fx.traceback.get_current_meta())\n"
                  "print(fx.traceback.get_current_meta())",
    "a tracer of one's own": "import torch.fx._symbolic_trace as st\nimport math\n"
                             "class Aside:\n    def twice(self, x): return 2\n"
                             "def way(x): return Aside().twice(math.sqrt(x))\n"
                             "class T(fx.Tracer):\n    @st.compatibility(is_backward_compatible=True)\n    def trace(self, root):\n"
                             "        self.root, self.graph, self.tensor_attrs = nn.Module(), fx.Graph(tracer_cls=type(self)), {}\n"
                             "        fn, args = self.create_args_for_root(root, False)\n        with st._Patcher() as patcher:\n"
                             "            patcher.patch_method(Aside, 'twice', lambda _, x: x + x, deduplicate=False)\n"
                             "            patcher.patch(globals(), 'abs', st._create_wrapped_func(abs))\n"
                             "            st._patch_wrapped_functions(patcher)\n"
                             "            for names in (math.__dict__, math.__dict__):\n"
                             "                st._autowrap_check(patcher, names, self._autowrap_function_ids)\n"
                             "            self.create_node('output', 'output', (self.create_arg(fn(*args)),), {})\n"
                             "        return self.graph\n"
                             "print(T().trace(way), 'abs' in globals(), isinstance(3, st.ScriptObject), way(4))\nst.ScriptObject()",
    "code of one's own": "class C(fx.graph.CodeGen):\n"
                         "    def generate_output(self, output_args):\n        return f'return [{output_args}]'\n"
                         "t = fx.symbolic_trace(lambda a: a + 1)\nt.graph.set_codegen(C())\nt.recompile()\nprint(t.code, t(torch.ones(2)))",
    "sizes": "s = symbolic_shapes\nprint(s.guard_or_false(True), s.guard_int(3), s.guard_scalar(2.5), s.has_free_symbols(x))\n"
             "print(s.sym_eq((1, 2), (1, 2)), s.sym_eq((1,), (1, 2)))\n"
             "for f in (s.guard_or_true, s.guard_bool, s.is_concrete_int, s.has_static_value, s.optimization_hint):\n"
             "    try: print(f(2.5))\n    except AssertionError as e: print(e)\ns.check_consistent(x, x[0])",
}


def outcome(torch: Any, case: str) -> Any:
    """What the program prints, and its error."""
    return carried_out(torch, SETTING + PROGRAMS[case])


TABLE = Table("fx_users", PROGRAMS, outcome)
