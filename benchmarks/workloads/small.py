"""Overhead on tensors of 10 to 100 elements: what an eager program pays per operation, whatever the arithmetic costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.workloads.registry import add, fill_parameters, floats, integers, mask, workload

Call = Callable[[], Any]
Expression = Callable[[Any, Any, Any, Any], Call]  # (torch, a, b, operands) -> the call to time


class Operands:
    """Small float32 leaves, ``a`` and ``b`` of 8x8, ``v`` of 64, positive ``p``, in other shapes; an index and a mask."""

    def __init__(self, torch: Any, grad: bool) -> None:
        self.a = floats(torch, 8, 8, seed=1, grad=grad)
        self.b = floats(torch, 8, 8, seed=2, grad=grad)
        self.v = floats(torch, 64, seed=3, grad=grad)
        self.p = floats(torch, 8, 8, seed=4, grad=grad, positive=True)
        self.row = floats(torch, 8, seed=3, grad=grad)
        self.cube = floats(torch, 4, 4, 4, seed=3, grad=grad)
        self.column = floats(torch, 64, 1, seed=3, grad=grad)
        self.index = integers(torch, 8, 8)
        self.mask = mask(torch)


def _call(name: str, operand: str = "a", **kwargs: Any) -> Expression:
    """The call ``torch.<name>(operand, **kwargs)``."""

    def build(torch: Any, a: Any, b: Any, o: Operands) -> Call:
        function, x = getattr(torch, name), getattr(o, operand)
        return (lambda: function(x, **kwargs)) if kwargs else (lambda: function(x))

    return build


POINTWISE: dict[str, Expression] = {
    "a + b": lambda torch, a, b, o: lambda: a + b,
    "a - b": lambda torch, a, b, o: lambda: a - b,
    "a * b": lambda torch, a, b, o: lambda: a * b,
    "a / p": lambda torch, a, b, o: lambda: a / o.p,
    "a + 1": lambda torch, a, b, o: lambda: a + 1,
    "2.0 * a": lambda torch, a, b, o: lambda: 2.0 * a,
    "1 - a": lambda torch, a, b, o: lambda: 1 - a,
    "a ** 2": lambda torch, a, b, o: lambda: a**2,
    "-a": lambda torch, a, b, o: lambda: -a,
    "a + row (broadcast)": lambda torch, a, b, o: lambda: a + o.row,
    "torch.add(a, b)": lambda torch, a, b, o: lambda: torch.add(a, b),
    "a.mul(b)": lambda torch, a, b, o: lambda: a.mul(b),
    "relu": _call("relu"),
    "exp": _call("exp"),
    "log": _call("log", "p"),
    "sqrt": _call("sqrt", "p"),
    "tanh": _call("tanh"),
    "sigmoid": _call("sigmoid"),
    "abs": _call("abs"),
    "clamp": _call("clamp", min=-1.0, max=1.0),
    "maximum": lambda torch, a, b, o: lambda: torch.maximum(a, b),
    "where": lambda torch, a, b, o: lambda: torch.where(o.mask, a, b),
}
REDUCTIONS: dict[str, Expression] = {
    "sum": lambda torch, a, b, o: lambda: a.sum(),
    "sum(dim)": lambda torch, a, b, o: lambda: a.sum(-1),
    "mean": lambda torch, a, b, o: lambda: a.mean(),
    "mean(dim, keepdim)": lambda torch, a, b, o: lambda: a.mean(dim=1, keepdim=True),
    "max": lambda torch, a, b, o: lambda: a.max(),
    "max(dim)": lambda torch, a, b, o: lambda: a.max(1),
    "var(dim)": lambda torch, a, b, o: lambda: a.var(1),
    "softmax": _call("softmax", dim=-1),
    "log_softmax": _call("log_softmax", dim=-1),
    "logsumexp": _call("logsumexp", dim=-1),
}
COMBINING: dict[str, Expression] = {
    "a @ b": lambda torch, a, b, o: lambda: a @ b,
    "matmul vector": lambda torch, a, b, o: lambda: torch.matmul(a, o.row),
    "bmm": lambda torch, a, b, o: lambda: torch.bmm(o.cube, o.cube),
    "cat": lambda torch, a, b, o: lambda: torch.cat((a, b), dim=1),
    "stack": lambda torch, a, b, o: lambda: torch.stack((a, b)),
}
VIEWS: dict[str, Expression] = {
    "view": lambda torch, a, b, o: lambda: a.view(4, 16),
    "reshape": lambda torch, a, b, o: lambda: a.reshape(-1),
    "transpose": lambda torch, a, b, o: lambda: a.transpose(0, 1),
    "t": lambda torch, a, b, o: lambda: a.t(),
    "permute": lambda torch, a, b, o: lambda: o.cube.permute(2, 0, 1),
    "unsqueeze": lambda torch, a, b, o: lambda: a.unsqueeze(1),
    "squeeze": lambda torch, a, b, o: lambda: o.column.squeeze(1),
    "expand": lambda torch, a, b, o: lambda: o.v.expand(8, 64),
    "a[2]": lambda torch, a, b, o: lambda: a[2],
    "a[1:5]": lambda torch, a, b, o: lambda: a[1:5],
    "a[:, 2]": lambda torch, a, b, o: lambda: a[:, 2],
    "a[:, None, ::2]": lambda torch, a, b, o: lambda: a[:, None, ::2],
    "a[index]": lambda torch, a, b, o: lambda: a[o.index],
    "a[mask]": lambda torch, a, b, o: lambda: a[o.mask],
    "split": lambda torch, a, b, o: lambda: a.split(4),
    "chunk": lambda torch, a, b, o: lambda: a.chunk(2, dim=1),
}
COMPARISONS: dict[str, Expression] = {
    "a < b": lambda torch, a, b, o: lambda: a < b,
    "a > 0": lambda torch, a, b, o: lambda: a > 0,
    "a == b": lambda torch, a, b, o: lambda: a == b,
    "(a > 0) & (b > 0)": lambda torch, a, b, o: lambda: (a > 0) & (b > 0),
    "argmax(dim)": lambda torch, a, b, o: lambda: a.argmax(1),
    "int a + b": lambda torch, a, b, o: lambda: o.index + o.index,
}


def _setup(build: Expression, grad: bool, torch: Any) -> Call:
    operands = Operands(torch, grad)
    return build(torch, operands.a, operands.b, operands)


def _register(section: str, table: dict[str, Expression], grad: bool) -> None:
    for name, build in table.items():
        add("small", section, name, partial(_setup, build, grad))


for _table in (POINTWISE, REDUCTIONS, COMBINING):
    _register("forward", _table, False)
_register("compare", COMPARISONS, False)
_register("views", VIEWS, False)
for _table in (POINTWISE, REDUCTIONS, COMBINING):
    _register("forward, grad", _table, True)
_register("views, grad", VIEWS, True)


@workload("small", "in-place", "add_(tensor)")
def add_tensor(torch: Any) -> Call:
    x, b = floats(torch, 8, 8), floats(torch, 8, 8, seed=2)
    return lambda: x.add_(b)


@workload("small", "in-place", "add_(scalar)")
def add_scalar(torch: Any) -> Call:
    x = floats(torch, 8, 8)
    return lambda: x.add_(1.0)


@workload("small", "in-place", "mul_(scalar)")
def mul_scalar(torch: Any) -> Call:
    x = floats(torch, 8, 8)
    return lambda: x.mul_(1.0)


@workload("small", "in-place", "x += b")
def iadd(torch: Any) -> Call:
    x, b = floats(torch, 8, 8), floats(torch, 8, 8, seed=2)

    def run() -> Any:
        nonlocal x
        x += b
        return x

    return run


@workload("small", "in-place", "zero_")
def zero(torch: Any) -> Call:
    x = floats(torch, 8, 8)
    return lambda: x.zero_()


@workload("small", "in-place", "copy_")
def copy(torch: Any) -> Call:
    x, b = floats(torch, 8, 8), floats(torch, 8, 8, seed=2)
    return lambda: x.copy_(b)


@workload("small", "in-place", "a[2] = scalar")
def setitem_scalar(torch: Any) -> Call:
    x = floats(torch, 8, 8)

    def run() -> Any:
        x[2] = 1.0
        return x

    return run


@workload("small", "in-place", "a[:, 1:3] = tensor")
def setitem_tensor(torch: Any) -> Call:
    x, b = floats(torch, 8, 8), floats(torch, 8, 2)

    def run() -> Any:
        x[:, 1:3] = b
        return x

    return run


@workload("small", "in-place", "a[mask] = scalar")
def setitem_mask(torch: Any) -> Call:
    x = floats(torch, 8, 8)
    chosen = mask(torch)

    def run() -> Any:
        x[chosen] = 0.5
        return x

    return run


@workload("small", "creation", "zeros")
def zeros(torch: Any) -> Call:
    function = torch.zeros
    return lambda: function(8, 8)


@workload("small", "creation", "ones_like")
def ones_like(torch: Any) -> Call:
    function, x = torch.ones_like, floats(torch, 8, 8)
    return lambda: function(x)


@workload("small", "creation", "arange")
def arange(torch: Any) -> Call:
    function = torch.arange
    return lambda: function(64)


@workload("small", "creation", "tensor(list)")
def from_list(torch: Any) -> Call:
    function, values = torch.tensor, [float(i) for i in range(10)]
    return lambda: function(values)


@workload("small", "creation", "tensor(scalar)")
def from_scalar(torch: Any) -> Call:
    function = torch.tensor
    return lambda: function(1.5)


@workload("small", "creation", "randn", random=True)
def randn(torch: Any) -> Call:
    function = torch.randn
    return lambda: function(8, 8)


@workload("small", "creation", "clone")
def clone(torch: Any) -> Call:
    x = floats(torch, 8, 8)
    return lambda: x.clone()


@workload("small", "creation", "detach")
def detach(torch: Any) -> Call:
    x = floats(torch, 8, 8, grad=True)
    return lambda: x.detach()


@workload("small", "creation", "item")
def item(torch: Any) -> Call:
    x = floats(torch, 1)
    return lambda: x.item()


@workload("small", "creation", "tolist")
def tolist(torch: Any) -> Call:
    x = floats(torch, 10)
    return lambda: x.tolist()


@workload("small", "creation", "shape, dim, numel")
def shape_queries(torch: Any) -> Call:
    x = floats(torch, 8, 8)
    return lambda: (x.shape[0], x.dim(), x.numel())


def _backward(section: str, name: str, loss: Callable[[Any, Operands], Any], *leaves: str) -> None:
    """Register forward and backward of ``loss``; the gradients of ``leaves`` are dropped first, as ``zero_grad`` does."""

    def setup(torch: Any) -> Call:
        o = Operands(torch, True)
        tensors = [getattr(o, leaf) for leaf in leaves]

        def run() -> Any:
            for x in tensors:
                x.grad = None
            loss(torch, o).backward()
            return [x.grad for x in tensors]

        return run

    add("small", section, name, setup)


def _chain(torch: Any, o: Operands) -> Any:
    x = o.a
    for _ in range(50):
        x = x * 0.99 + 0.01
    return x.sum()


def _scalar_expression(torch: Any, o: Operands) -> Any:
    x, y = o.v[0], o.v[1]
    z = x * y + x
    z = z + (y * 2.0 - x).relu()
    return z * z + (x / (y * y + 1.0)).tanh()


_backward("backward", "a.sum()", lambda torch, o: o.a.sum(), "a")
_backward("backward", "(a * b).sum()", lambda torch, o: (o.a * o.b).sum(), "a", "b")
_backward("backward", "(a @ b).relu().mean()", lambda torch, o: (o.a @ o.b).relu().mean(), "a", "b")
_backward("backward", "((a - b) ** 2).mean()", lambda torch, o: ((o.a - o.b) ** 2).mean(), "a", "b")
_backward("backward", "(tanh(a) * sigmoid(b)).sum()", lambda torch, o: (o.a.tanh() * o.b.sigmoid()).sum(), "a", "b")
_backward("backward", "log_softmax(a)[:, 0].sum()", lambda torch, o: o.a.log_softmax(-1)[:, 0].sum(), "a")
_backward("backward", "cat, reshape, transpose", lambda torch, o: torch.cat((o.a.t(), o.b)).reshape(-1).sum(), "a", "b")
_backward("backward", "scalar expression", _scalar_expression, "v")
_backward("backward", "exp(log(p)) * p / (p + 1)", lambda torch, o: (o.p.log().exp() * o.p / (o.p + 1)).sum(), "p")
_backward("chains", "100 ops, forward + backward", _chain, "a")


@workload("small", "chains", "100 ops, no grad")
def chain_no_grad(torch: Any) -> Call:
    o = Operands(torch, False)
    return lambda: _chain(torch, o)


@workload("small", "chains", "100 ops, forward under grad")
def chain_forward(torch: Any) -> Call:
    o = Operands(torch, True)
    return lambda: _chain(torch, o)


@workload("small", "chains", "100 ops in no_grad()")
def chain_in_no_grad(torch: Any) -> Call:
    o = Operands(torch, True)

    def run() -> Any:
        with torch.no_grad():
            return _chain(torch, o)

    return run


@workload("small", "backward", "autograd.grad")
def autograd_grad(torch: Any) -> Call:
    o = Operands(torch, True)
    return lambda: torch.autograd.grad((o.a * o.b).sum(), (o.a, o.b))


@workload("small", "backward", "accumulate into .grad")
def accumulate(torch: Any) -> Call:
    o = Operands(torch, True)

    def run() -> Any:
        (o.a * o.b).sum().backward()
        return o.a.grad

    return run


@workload("small", "backward", "double backward")
def double_backward(torch: Any) -> Call:
    o = Operands(torch, True)

    def run() -> Any:
        (g,) = torch.autograd.grad((o.a**3 * o.b).sum(), o.a, create_graph=True)
        return torch.autograd.grad((g * g).sum(), (o.a, o.b))

    return run


@workload("small", "backward", "custom Function")
def custom_function(torch: Any) -> Call:
    class Square(torch.autograd.Function):  # type: ignore[misc]  # torch is whichever module is measured
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    a = floats(torch, 8, 8, grad=True)

    def run() -> Any:
        a.grad = None
        Square.apply(a).sum().backward()
        return a.grad

    return run


def _module(name: str, build: Callable[[Any], Any], backward: bool, *shape: int) -> None:
    def setup(torch: Any) -> Call:
        module, x = fill_parameters(torch, build(torch)), floats(torch, *shape)
        if not backward:
            return lambda: module(x)
        parameters = list(module.parameters())

        def run() -> Any:
            module.zero_grad()
            module(x).sum().backward()
            return [p.grad for p in parameters]

        return run

    add("small", "modules", name + (", forward + backward" if backward else ""), setup)


def _mlp(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))


def _norm(torch: Any) -> Any:
    return torch.nn.LayerNorm(10)


for _backward_too in (False, True):
    _module("Linear(10, 10)", lambda torch: torch.nn.Linear(10, 10), _backward_too, 8, 10)
    _module("LayerNorm(10)", _norm, _backward_too, 8, 10)
    _module("Sequential MLP", _mlp, _backward_too, 8, 8)


def _optimizer(name: str, build: Callable[[Any, list[Any]], Any]) -> None:
    def setup(torch: Any) -> Call:
        parameters = [floats(torch, 8, 8, seed=i, grad=True) for i in range(4)]
        for i, p in enumerate(parameters):
            p.grad = floats(torch, 8, 8, seed=10 + i)
        optimizer = build(torch, parameters)

        def run() -> Any:
            optimizer.step()
            return parameters

        return run

    add("small", "optimizers", name, setup)


_optimizer("SGD, 4 parameters", lambda torch, p: torch.optim.SGD(p, lr=1e-4))
_optimizer("SGD momentum, 4 parameters", lambda torch, p: torch.optim.SGD(p, lr=1e-4, momentum=0.9))
_optimizer("Adam, 4 parameters", lambda torch, p: torch.optim.Adam(p, lr=1e-4))
_optimizer("AdamW, 4 parameters", lambda torch, p: torch.optim.AdamW(p, lr=1e-4))
