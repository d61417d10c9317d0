"""Programs that script, trace, save and load: what they print and warn of, and the errors that end them; and files that torch wrote."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import typing
import warnings
from typing import Any

from tests.recording import FIXTURES, Recording, Table

SETTING = """
class Net(nn.Module):
    scale: float
    def __init__(self):
        super().__init__()
        self.lin, self.bn, self.drop = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)
        self.layers = nn.ModuleList([nn.Linear(3, 3, bias=i > 0) for i in range(2)])
        self.seq = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4))
        self.scale, self.names = 2.0, ["a", "b"]
        self.register_buffer("shift", torch.arange(3.))
    def forward(self, x, h: Optional[Tensor] = None):
        x = self.drop(F.relu(self.bn(self.lin(x))))
        for i, layer in enumerate(self.layers):
            x = layer(x) * self.scale + i
        if h is not None:
            x = x + h
        if x.sum() > 1000:
            raise ValueError("too much")
        return self.seq(x + self.shift), self.helper(x)
    def helper(self, x):
        return x[:, -1].argmax()
    @torch.jit.export
    def length(self, n: int) -> int:
        return n + len(self.names)
    @torch.jit.ignore
    def ignored(self, x):
        return torch.jit.is_scripting()
class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.Linear(3, 2)
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        x = F.adaptive_avg_pool2d(x, 1).view(x.size(0), -1)
        return F.log_softmax(self.head(x), dim=1), x.mean(1, keepdim=True)
def kinds(block):
    return [n.kind() for n in block.nodes() if n.kind() not in ('prim::Constant', 'prim::unchecked_cast')]
def graph(found):
    text, seen = re.sub(r' # .*', '', str(found)), {}
    return re.sub(r'%(\\w+)', lambda m: '%' + seen.setdefault(m[1], str(len(seen))), text)
def loop(x, n: int = 3, names: Optional[List[str]] = None) -> Tuple[Tensor, int]:
    total = 0
    for i in range(n):
        if i == 1:
            continue
        x = x + i
        total += i
    while total < 10:
        total += 4
        if total > 8:
            break
    if names is not None:
        total += len(names)
    assert total > 0, "no total"
    return torch.cat([x, -x]).clamp(min=-1.0), total
def choose(x):
    if x.sum() > 0:
        return x * 2
    return x - 1
def again(x):
    stream = io.BytesIO()
    torch.jit.save(x, stream)
    stream.seek(0)
    return torch.jit.load(stream)
def show(*values):
    print(*values)
x = torch.linspace(-1, 1, 6).view(2, 3)
"""

PROGRAMS = {
    "a scripted module": "m = Net().eval(); s = torch.jit.script(m); show(s, s.original_name, isinstance(s, torch.jit.ScriptModule),"
                         "isinstance(s, Net)); show(torch.allclose(s(x)[0], m(x)[0]), s(x)[1] == m(x)[1], s.length(3), s.names, s.scale)",
    "its state": "m = Net(); s = torch.jit.script(m); show(list(s.state_dict()), [n for n, _ in s.named_parameters()], "
                 "s.lin.weight is m.lin.weight); show(s.eval().training, s.bn.training, m.training, s.train().seq.training)\n"
                 "s.scale = 3.0; show(s.scale, m.scale); show(s.double().lin.weight.dtype, len(list(s.children())))",
    "copies": "s = torch.jit.script(Net()); c = copy.deepcopy(s); show(type(c).__name__, c.lin.weight is s.lin.weight,"
              "torch.equal(c.lin.weight, s.lin.weight)); c.scale = 5.0; show(s.scale, c.length(1))",
    "attributes": "s = torch.jit.script(Net()); show(hasattr(s, 'helper'), hasattr(s, 'nothing'), s.ignored(x)); s.nothing",
    "another type": "s = torch.jit.script(Net()); s.scale = 'much'",
    "hooks": "torch.jit.script(Net()).register_forward_hook(print)",
    "pickled": "pickle.dumps(torch.jit.script(Net()))",
    "containers": "s = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())); show(len(s), s[1], [type(m).__name__ for m in s], s)",
    "trained": "torch.manual_seed(0)\nm = Net(); s = torch.jit.script(m); opt = torch.optim.SGD(s.parameters(), 0.1)\nfor _ in range(3):\n"
               "    opt.zero_grad(); s(x)[0].sum().backward(); opt.step()\nshow(m.lin.weight.grad is not None, "
               "int(m.bn.num_batches_tracked))",
    "a scripted function": "f = torch.jit.script(loop); show(f(x), f(x, 2, ['a']), f(x, n=1)[1], f.name, f.qualified_name, f.schema)",
    "types of a function": "show(type(torch.jit.script(loop)).__name__, torch.jit.script(torch.jit.script(loop)) is not None)",
    "a branch": "f = torch.jit.script(choose); show(f(x), f(x + 1))",
    "too few": "torch.jit.script(loop)()", "too many": "torch.jit.script(loop)(x, 1, None, 2)", "unknown": "torch.jit.script(loop)(x, m=3)",
    "no tensor": "torch.jit.script(choose)('a')", "no integer": "torch.jit.script(loop)(x, 'a')",
    "too few for a module": "torch.jit.script(Net())()",
    "tries": "def f(x):\n    try:\n        return x\n    except Exception:\n        return x\ntorch.jit.script(f)",
    "anonymous": "def f(x):\n    return (lambda y: y)(x)\ntorch.jit.script(f)", "imports": "def f(x):\n    import math\n    return "
    "x\ntorch.jit.script(f)",
    "yields": "def f(x):\n    yield x\ntorch.jit.script(f)", "any arguments": "def f(*args):\n    return args[0]\ntorch.jit.script(f)",
    "a number": "torch.jit.script(3)", "a class of modules": "torch.jit.script(Net)",
    "no source": "exec('def f(x): return x', globals()); torch.jit.script(f)",
    "is scripting": "def f(x):\n    if torch.jit.is_scripting():\n        return x + 1\n    return x\nshow(f(x), torch.jit.script(f)(x))",
    "a saved module": "torch.manual_seed(0)\nm = Net().eval(); s = again(torch.jit.script(m)); show(s, torch.allclose(s(x)[0], m(x)[0]), "
                      "s(x, x)[0].shape, s.length(3), s.names, s.scale, s.training, list(s.state_dict()))",
    "a saved module trains": "m = torch.jit.script(Net()); s = again(m).train(); s(x)[0].sum().backward(); show(s.lin.weight.grad.shape, "
                             "int(s.bn.num_batches_tracked), again(s.eval())(x)[0].shape)",
    "a saved function": "f = again(torch.jit.script(loop)); show(f, f(x, 2, None)[1], f(x, 2, ['a', 'b'])[1])",
    "a saved branch": "f = again(torch.jit.script(choose)); show(f(x), f(x + 1))",
    "a saved trace": "m = Plain().eval(); y = torch.randn(2, 2, 4, 4); s = again(torch.jit.trace(m, y)); z = torch.randn(5, 2, 6, 6)\n"
                     "show(s, all(torch.allclose(a, b, atol=1e-6) for a, b in zip(s(z), m(z))), s(z)[0].shape)",
    "a saved trace of a function": "s = again(torch.jit.trace(lambda x, y: (x @ y.t(), {'a': x[0, 1:] * 2}), (x, x), strict=False)); "
                                   "show(s, s(x, x))",
    "a saved branch in a trace": "g = torch.jit.script(choose); s = again(torch.jit.trace(lambda x: g(x) + 1, x)); show(s(x), s(x + 1))",
    "extra files": "stream = io.BytesIO(); torch.jit.save(torch.jit.script(Net()), stream, _extra_files={'a.txt': 'hello', 'b': b'\\0'})\n"
                   "stream.seek(0); extra = {'a.txt': '', 'b': '', 'c': ''}; torch.jit.load(stream, _extra_files=extra); show(extra)",
    "no file": "torch.jit.load('/nonexistent/file.pt')", "a folder": "torch.jit.load('/')", "not scripted": "torch.jit.save(Net(), "
                                                                                                            "io.BytesIO())",
    "load by torch.load": "s = io.BytesIO(); torch.jit.save(torch.jit.script(Net()), s); s.seek(0)\nshow(type(torch.load(s, "
                          "weights_only=False)).__name__)",
    "a traced module": "m = Plain().eval(); t = torch.jit.trace(m, torch.ones(1, 2, 4, 4)); show(t, type(t).__name__, isinstance(t, "
                       "torch.jit.ScriptModule), isinstance(t, torch.jit.RecursiveScriptModule)); y = torch.randn(3, 2, 4, 4)\n"
                       "show(torch.allclose(t(y)[0], m(y)[0]), [n for n, _ in t.named_buffers()])",
    "submodules of a trace": "torch.jit.trace(Plain().eval(), torch.ones(1, 2, 4, 4)).head(torch.ones(1, 3))",
    "sizes": "t = torch.jit.trace(lambda x: (x.view(x.shape[1], -1) * x.size(0), torch.arange(x.shape[0] * 2), torch.zeros(x.shape), x / "
             "x.shape[1], x.shape[0]), x); show(t(torch.ones(4, 2)))",
    "in place": "def f(x):\n    y = x.clone(); y[:, 0] = 7; y += 1; y[y > 7] = 0.5; y[0].mul_(2)\n    return y\nt = torch.jit.trace(f, x); "
                "show(t(x), t(x + 3))",
    "indices": "t = torch.jit.trace(lambda x: (x[0], x[..., None], x[None, :, 1:], x[[1, 0]], x[x > 0], x[:, [0, 2]], x[-1, ::2], "
               "x[1, 2]), x); "
               "show(t(x * 2))",
    "structures": "t = torch.jit.trace(lambda a, b: (a['u'] + b[0], (b[1], [a['v']])), ({'u': x, 'v': x * 2}, (x * 3, x * 4)), "
                  "strict=False); "
                  "show(t({'u': x, 'v': x}, (x, x)))",
    "keywords": "t = torch.jit.trace(lambda a, b: a - b, example_kwarg_inputs={'b': x, 'a': x + 1}); show(t(a=x, b=x * 3))",
    "gradients": "t = torch.jit.trace(lambda x: (x ** 3).sum(), x); y = x.clone().requires_grad_(); t(y).backward(); show(y.grad)",
    "random numbers": "t = torch.jit.trace(lambda x: x + torch.rand(2, 3), x, check_trace=False); torch.manual_seed(3); a = t(x)\n"
                      "torch.manual_seed(3); show(torch.equal(a, x + torch.rand(2, 3)))",
    "a script in a trace": "g = torch.jit.script(choose); t = torch.jit.trace(lambda x: g(x), x); show(t(x), t(x + 1))",
    "scripted if traced": "g = torch.jit.script_if_tracing(choose); show(g(x)); t = torch.jit.trace(lambda x: g(x), x); show(t(x + 1))",
    "traced and called": "show(torch.jit.is_tracing()); torch.jit.trace(lambda x: show(torch.jit.is_tracing()) or x, x, check_trace=False)",
    "checked": "n = [0]\ndef f(x):\n    n[0] += 1\n    return x.clone() if n[0] % 2 else x - x\ntry:\n    torch.jit.trace(f, x)\nexcept "
               "torch.jit.TracingCheckError as error:\n    show(str(error).split('Graph diff')[0])",
    "checked elsewhere": "try:\n    torch.jit.trace(choose, x + 1, check_inputs=[(x - 1,)])\nexcept torch.jit.TracingCheckError as error:\n"
                         "    show(str(error).split('Graph diff')[0])",
    "returns text": "torch.jit.trace(lambda x: 'a', x)", "returns nothing": "torch.jit.trace(lambda x: None, x)",
    "returns a dictionary": "torch.jit.trace(lambda x: {'a': x}, x)", "of a number": "torch.jit.trace(lambda x: x, (1,))",
    "of text": "torch.jit.trace(lambda x: x, 'a')", "of nothing": "torch.jit.trace(lambda x, y: x, (x, None))",
    "of a method": "torch.jit.trace(Net().length, x)", "no module": "torch.jit.trace_module(3, {})",
    "no inputs": "torch.jit.trace_module(Net(), 3)",
    **{f"warns: {text}": f"torch.jit.trace(lambda x: {text}, x[0], check_trace=False)" for text in (
        "x if x.sum() > 0 else -x", "x * x.sum().item()", "x * int(x.sum())", "x * float(x.sum())", "x * len(x)", "sum([y for y in x])",
        "x + torch.tensor([1., 2., 3.])", "[x, x]", "x * x.tolist()[0]", "x * float(x.numpy()[0])")},
    "a trace is traced": "torch.jit.trace(torch.jit.trace(choose, x, check_trace=False), x)",
    "frozen": "m = Net().eval(); s = torch.jit.freeze(torch.jit.script(m)); show(list(s.parameters()), list(s.children()), "
              "torch.allclose(s(x)[0], m(x)[0]), hasattr(s, 'training'), type(s).__name__)",
    "frozen in training": "torch.jit.freeze(torch.jit.script(Net()))", "frozen unscripted": "torch.jit.freeze(Net())",
    "graph of a trace": "show(graph(torch.jit.trace(lambda x, y: (x @ y, x.sum(0), torch.cat([x, y], 1) * 2, x.t()[0]), "
                        "(torch.ones(2, 2), torch.ones(2, 2))).graph))",
    "graph of a traced module": "g = torch.jit.trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), x).inlined_graph; n = list(g.nodes())[-1]\n"
                                "show(sorted(m.kind() for m in g.nodes() if m.kind() != 'prim::GetAttr'), n.output().type().sizes(), "
                                "n.output().type().scalarType(), n.output().isCompleteTensor(), n.schema(), n.inputsSize(), "
                                "n.input().node().kind(), [i.debugName() for i in g.inputs()][0], n.output().uses()[0].user.kind(), "
                                "sorted(m.s('name') for m in g.findAllNodes('prim::GetAttr') if m.s('name').isalpha()))",
    "graph of a function": "def f(x, n: int, h: Optional[Tensor] = None) -> Tuple[Tensor, List[Tensor]]:\n    y = x + n\n    if n > 2:\n"
                           "        y = y.sum(0)\n    for i in range(n):\n        y = y * i\n    if h is not None and n > 1:\n"
                           "        y = y + h\n"
                           "    return y, [y, x]\ng = torch.jit.script(f).graph; g.lint(); w = g.findNode('prim::If')\n"
                           "show(kinds(g), [(i.debugName(), str(i.type())) for i in g.inputs()], [o.type().kind() for o in g.outputs()], "
                           "w.outputsSize(), w.input().node().schema()[:8], [kinds(b) for b in w.blocks()], "
                           "[v.type().str() for v in next(g.findNode('prim::Loop').blocks()).inputs()], g.findNode('aten::nothing'))",
    "graph of a method": "n = torch.jit.script(Plain()); g = n.graph\n"
                         "show([m.s('name') for m in g.findAllNodes('prim::CallMethod')], str(list(g.inputs())[0].type()), "
                         "sorted(m.s('name') for m in g.findAllNodes('prim::GetAttr')), kinds(g)[-3:], "
                         "sorted(set(kinds(n.inlined_graph)) & {'aten::conv2d', 'aten::linear', 'prim::CallMethod'}))",
    "constants of a graph": "g = torch.jit.trace(lambda x: x.sum(0, keepdim=True) * 2.5, x).graph\n"
                            "show([(n.output().toIValue(), str(n.output().type()), n.attributeNames(), n.mustBeNone()) "
                            "for n in g.findAllNodes('prim::Constant')])",
    "for inference": "m = Net().eval(); s = torch.jit.optimize_for_inference(torch.jit.script(m)); show(torch.allclose(s(x)[0], m(x)[0]))",
    "types": "show(torch.jit.isinstance([1], List[int]), torch.jit.isinstance([1], List[str]), torch.jit.isinstance({'a': x}, Dict[str, "
             "Tensor]), torch.jit.isinstance((1, 'a'), Tuple[int, str]), torch.jit.isinstance(None, Optional[int]), "
             "torch.jit.isinstance(1, (int, str)))",
    "types of nobody knows what": "torch.jit.isinstance([1], list)",
    "settings": "show(torch.jit.onednn_fusion_enabled(), torch.jit.enable_onednn_fusion(True), torch.jit.onednn_fusion_enabled()); "
                "torch.jit.enable_onednn_fusion(False); show(torch.jit.annotate(int, 3), torch.jit.Attribute(3, int).value)",
    "later": "f = torch.jit.fork(choose, x); show(type(f).__name__, torch.jit.wait(f))",
    "a source": "u = torch.jit.CompilationUnit('def f(x, n: int):\\n  y = [n, 2]\\n  return x * n, y, x.size(0)\\n'); show(u.f(x, 3))",
    "marks": "from torch._jit_internal import FunctionModifiers, get_torchscript_modifier, is_ignored_fn, should_drop\nf = lambda: 0\n"
             "for mark in (torch.jit.ignore, torch.jit.unused, torch.jit.export, torch.jit.ignore(drop=False)):\n"
             "    g = mark(lambda: 0); show(get_torchscript_modifier(g), is_ignored_fn(g), "
             "should_drop(g))\nshow(get_torchscript_modifier(f))",
    "one of two": "from torch._jit_internal import boolean_dispatch\nf = boolean_dispatch('both', 1, False, lambda x, both=False: (x, x), "
                  "lambda x, both=False: x, 'm', 'n'); show(f(1), f(1, True), f(1, both=True), f.__name__, f.__module__)",
    "a drop that is none": "torch.jit.ignore(3)",
}


def outcome(torch: Any, case: str) -> Any:
    """What the program prints, its warnings, and its error."""
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "io": io, "re": re, "copy": __import__("copy"),
                             "pickle": __import__("pickle"), "Tensor": torch.Tensor, "__name__": "__main__",
                             **{n: getattr(typing, n) for n in ("Dict", "List", "Optional", "Tuple")}}
    text = SETTING + PROGRAMS[case].replace("from torch.", f"from {torch.__name__}.")
    file, printed, error = f"/jit-{case}.py", io.StringIO(), ""
    linecache.cache[file] = len(text), None, text.splitlines(True), file  # who scripts reads the source
    torch.manual_seed(0)
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            exec(compile(text, file, "exec", dont_inherit=True), names)
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
    del linecache.cache[file]
    words = [f"{w.category.__name__}: {w.message}" for w in told if w.category.__name__ != "DeprecationWarning"]
    return [re.sub(r"0x[0-9a-f]+|___torch_mangle_\d+\.", "", part.replace("torchcompat", "torch")) for part in (
        printed.getvalue(), "\n".join(dict.fromkeys(words)), error)]


TABLE = Table("jit", PROGRAMS, outcome)


def write(torch: Any) -> None:
    """Files of torch's: a scripted and a traced module, with what they give of ones."""
    file = "/jit-files.py"
    linecache.cache[file] = len(SETTING), None, SETTING.splitlines(True), file
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "Tensor": torch.Tensor, "__name__": "__main__",
                             **{n: getattr(typing, n) for n in ("Dict", "List", "Optional", "Tuple")}}
    exec(compile(SETTING, file, "exec", dont_inherit=True), names)
    torch.manual_seed(0)
    scripted, plain = names["Net"]().eval(), names["Plain"]().eval()
    x, y = torch.ones(2, 3), torch.ones(2, 2, 4, 4)
    for name, made, given in (("scripted", torch.jit.script(scripted), x), ("traced", torch.jit.trace(plain, y), y)):
        found = " ".join([repr(v) for v in made(given)[0].view(-1).tolist()])
        made.save(FIXTURES / f"jit_{name}.pt", _extra_files={"found": found})


FILES = Recording("jit_files", "jit_*.pt", write)
