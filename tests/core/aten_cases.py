"""Calls that `__torch_dispatch__` looks at, to be carried out with torch itself and with this package."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.recording import Table

CASES: dict[str, Callable[..., Any]] = {
    "ones": lambda t, x, w, b, im: t.ones(2), "zeros": lambda t, x, w, b, im: t.zeros(2), "empty": lambda t, x, w, b, im: t.empty(2),
    "full": lambda t, x, w, b, im: t.full((2,),1.), "arange": lambda t, x, w, b, im: t.arange(3),
    "eye": lambda t, x, w, b, im: t.eye(2), "linspace": lambda t, x, w, b, im: t.linspace(0,1,3),
    "rand": lambda t, x, w, b, im: t.rand(2), "randn": lambda t, x, w, b, im: t.randn(2),
    "randint": lambda t, x, w, b, im: t.randint(0,3,(2,)), "randperm": lambda t, x, w, b, im: t.randperm(3),
    "tensor": lambda t, x, w, b, im: t.tensor([1.]), "as_tensor": lambda t, x, w, b, im: t.as_tensor([1.]),
    "scalar_tensor": lambda t, x, w, b, im: t.scalar_tensor(1.), "empty_strided": lambda t, x, w, b, im: t.empty_strided((2,),(1,)),
    "ones_like": lambda t, x, w, b, im: t.ones_like(x), "zeros_like": lambda t, x, w, b, im: t.zeros_like(x),
    "empty_like": lambda t, x, w, b, im: t.empty_like(x), "full_like": lambda t, x, w, b, im: t.full_like(x,2),
    "rand_like": lambda t, x, w, b, im: t.rand_like(x), "randn_like": lambda t, x, w, b, im: t.randn_like(x),
    "new_zeros": lambda t, x, w, b, im: x.new_zeros(2), "new_ones": lambda t, x, w, b, im: x.new_ones(2),
    "new_empty": lambda t, x, w, b, im: x.new_empty(2), "new_full": lambda t, x, w, b, im: x.new_full((2,),1.),
    "new_empty_strided": lambda t, x, w, b, im: x.new_empty_strided((2,),(1,)),
    "linear": lambda t, x, w, b, im: t.nn.functional.linear(x,w,b),
    "linear_nb": lambda t, x, w, b, im: t.nn.functional.linear(x,w),
    "linear3": lambda t, x, w, b, im: t.nn.functional.linear(t.stack([x,x]),w,b),
    "matmul": lambda t, x, w, b, im: x@w.t(), "matmul_mv": lambda t, x, w, b, im: x@x[0], "mm": lambda t, x, w, b, im: t.mm(x,w.t()),
    "reshape": lambda t, x, w, b, im: x.reshape(6), "view": lambda t, x, w, b, im: x.view(6),
    "flatten": lambda t, x, w, b, im: x.flatten(), "T": lambda t, x, w, b, im: x.T, "mT": lambda t, x, w, b, im: x.mT,
    "t": lambda t, x, w, b, im: x.t(), "transpose": lambda t, x, w, b, im: x.transpose(0,1),
    "permute": lambda t, x, w, b, im: x.permute(1,0), "contiguous": lambda t, x, w, b, im: x.contiguous(),
    "contiguous_t": lambda t, x, w, b, im: x.t().contiguous(), "to": lambda t, x, w, b, im: x.to(t.float64),
    "to_same": lambda t, x, w, b, im: x.to(t.float32), "float": lambda t, x, w, b, im: x.float(),
    "double": lambda t, x, w, b, im: x.double(), "clone": lambda t, x, w, b, im: x.clone(), "detach": lambda t, x, w, b, im: x.detach(),
    "squeeze": lambda t, x, w, b, im: x.squeeze(), "squeeze0": lambda t, x, w, b, im: x.squeeze(0),
    "unsqueeze": lambda t, x, w, b, im: x.unsqueeze(0), "expand": lambda t, x, w, b, im: x.expand(2,2,3),
    "expand_as": lambda t, x, w, b, im: x.expand_as(x), "chunk": lambda t, x, w, b, im: x.chunk(2,1),
    "split": lambda t, x, w, b, im: x.split(1), "split_l": lambda t, x, w, b, im: x.split([1,1]),
    "unbind": lambda t, x, w, b, im: x.unbind(), "getitem0": lambda t, x, w, b, im: x[0], "getitem_s": lambda t, x, w, b, im: x[:,1:],
    "getitem_n": lambda t, x, w, b, im: x[None], "getitem_t": lambda t, x, w, b, im: x[t.tensor([0])],
    "getitem_all": lambda t, x, w, b, im: x[...], "getitem_m": lambda t, x, w, b, im: x[x>0],
    "narrow": lambda t, x, w, b, im: x.narrow(0,0,1), "select": lambda t, x, w, b, im: x.select(0,0),
    "diagonal": lambda t, x, w, b, im: x.diagonal(), "movedim": lambda t, x, w, b, im: x.movedim(0,1),
    "swapaxes": lambda t, x, w, b, im: x.swapaxes(0,1), "repeat": lambda t, x, w, b, im: x.repeat(2,1),
    "tile": lambda t, x, w, b, im: x.tile(2), "stack": lambda t, x, w, b, im: t.stack([x,x]),
    "cat": lambda t, x, w, b, im: t.cat([x,x]), "hstack": lambda t, x, w, b, im: t.hstack([x,x]),
    "vstack": lambda t, x, w, b, im: t.vstack([x,x]), "add": lambda t, x, w, b, im: x+x, "addn": lambda t, x, w, b, im: x+1,
    "radd": lambda t, x, w, b, im: 1+x, "sub": lambda t, x, w, b, im: x-x, "rsub": lambda t, x, w, b, im: 1-x,
    "mul": lambda t, x, w, b, im: x*2, "div": lambda t, x, w, b, im: x/2, "rdiv": lambda t, x, w, b, im: 1/x,
    "pow": lambda t, x, w, b, im: x**2, "powt": lambda t, x, w, b, im: x**x, "rpow": lambda t, x, w, b, im: 2**x,
    "floordiv": lambda t, x, w, b, im: x//2, "mod": lambda t, x, w, b, im: x%2, "neg": lambda t, x, w, b, im: -x,
    "eq": lambda t, x, w, b, im: x==x, "gt": lambda t, x, w, b, im: x>0, "and_": lambda t, x, w, b, im: (x>0)&(x<1),
    "inv": lambda t, x, w, b, im: ~(x>0), "add_": lambda t, x, w, b, im: x.clone().add_(1),
    "iadd": lambda t, x, w, b, im: x.clone().__iadd__(1), "true_divide": lambda t, x, w, b, im: t.true_divide(x,2),
    "square": lambda t, x, w, b, im: x.square(), "sqrt": lambda t, x, w, b, im: x.sqrt(), "abs": lambda t, x, w, b, im: abs(x),
    "exp": lambda t, x, w, b, im: x.exp(), "clamp": lambda t, x, w, b, im: x.clamp(0,1),
    "clampmin": lambda t, x, w, b, im: x.clamp(min=0), "sum": lambda t, x, w, b, im: x.sum(), "sumd": lambda t, x, w, b, im: x.sum(0),
    "mean": lambda t, x, w, b, im: x.mean(), "meand": lambda t, x, w, b, im: x.mean(1), "max": lambda t, x, w, b, im: x.max(),
    "maxd": lambda t, x, w, b, im: x.max(0), "var": lambda t, x, w, b, im: x.var(), "vard": lambda t, x, w, b, im: x.var(0),
    "std": lambda t, x, w, b, im: x.std(), "norm": lambda t, x, w, b, im: x.norm(),
    "vnorm": lambda t, x, w, b, im: t.linalg.vector_norm(x), "prod": lambda t, x, w, b, im: x.prod(),
    "argmax": lambda t, x, w, b, im: x.argmax(), "sort": lambda t, x, w, b, im: x.sort(), "topk": lambda t, x, w, b, im: x.topk(1),
    "cumsum": lambda t, x, w, b, im: x.cumsum(0), "logsumexp": lambda t, x, w, b, im: x.logsumexp(0),
    "all": lambda t, x, w, b, im: (x>0).all(), "any": lambda t, x, w, b, im: (x>0).any(),
    "softmax": lambda t, x, w, b, im: x.softmax(0), "log_softmax": lambda t, x, w, b, im: x.log_softmax(0),
    "relu": lambda t, x, w, b, im: x.relu(), "frelu": lambda t, x, w, b, im: t.nn.functional.relu(x),
    "gelu": lambda t, x, w, b, im: t.nn.functional.gelu(x), "silu": lambda t, x, w, b, im: t.nn.functional.silu(x),
    "sigmoid": lambda t, x, w, b, im: x.sigmoid(), "tanh": lambda t, x, w, b, im: x.tanh(),
    "leaky": lambda t, x, w, b, im: t.nn.functional.leaky_relu(x), "elu": lambda t, x, w, b, im: t.nn.functional.elu(x),
    "softplus": lambda t, x, w, b, im: t.nn.functional.softplus(x), "logsigmoid": lambda t, x, w, b, im: t.nn.functional.logsigmoid(x),
    "ln": lambda t, x, w, b, im: t.nn.functional.layer_norm(x,(3,)), "gn": lambda t, x, w, b, im: t.nn.functional.group_norm(im,1),
    "dropout_e": lambda t, x, w, b, im: t.nn.functional.dropout(x,training=False),
    "ce": lambda t, x, w, b, im: t.nn.functional.cross_entropy(x,t.tensor([0,1])),
    "nll": lambda t, x, w, b, im: t.nn.functional.nll_loss(x,t.tensor([0,1])),
    "mse": lambda t, x, w, b, im: t.nn.functional.mse_loss(x,x), "l1": lambda t, x, w, b, im: t.nn.functional.l1_loss(x,x),
    "emb": lambda t, x, w, b, im: t.nn.functional.embedding(t.tensor([0]),w),
    "conv": lambda t, x, w, b, im: t.nn.functional.conv2d(im,t.randn(1,2,3,3)),
    "maxpool": lambda t, x, w, b, im: t.nn.functional.max_pool2d(im,2),
    "avgpool": lambda t, x, w, b, im: t.nn.functional.avg_pool2d(im,2),
    "aap": lambda t, x, w, b, im: t.nn.functional.adaptive_avg_pool2d(im,1), "pad": lambda t, x, w, b, im: t.nn.functional.pad(x,(1,1)),
    "sdpa": lambda t, x, w, b, im: t.nn.functional.scaled_dot_product_attention(im,im,im),
    "bmm": lambda t, x, w, b, im: t.bmm(im[0],im[0]), "addmm": lambda t, x, w, b, im: t.addmm(b,x,w.t()),
    "outer": lambda t, x, w, b, im: t.outer(b,b), "dot": lambda t, x, w, b, im: b.dot(b),
    "where": lambda t, x, w, b, im: t.where(x>0,x,x), "where_s": lambda t, x, w, b, im: t.where(x>0,x,0.),
    "masked_fill": lambda t, x, w, b, im: x.masked_fill(x>0,0), "gather": lambda t, x, w, b, im: x.gather(0,t.zeros(1,3,dtype=t.long)),
    "index_select": lambda t, x, w, b, im: x.index_select(0,t.tensor([0])), "tril": lambda t, x, w, b, im: x.tril(),
    "item": lambda t, x, w, b, im: x[0,0].item(), "bool": lambda t, x, w, b, im: bool(x[0,0]),
    "isnan": lambda t, x, w, b, im: x.isnan(), "isfinite": lambda t, x, w, b, im: x.isfinite(),
    "lerp": lambda t, x, w, b, im: t.lerp(x,x,.5), "addcmul": lambda t, x, w, b, im: t.addcmul(x,x,x),
    "setitem_t": lambda t, x, w, b, im: x.clone().__setitem__(0,b[:3]), "copy_": lambda t, x, w, b, im: x.clone().copy_(x),
    "zero_": lambda t, x, w, b, im: x.clone().zero_(), "fill_": lambda t, x, w, b, im: x.clone().fill_(1),
    "normal_": lambda t, x, w, b, im: x.clone().normal_(), "uniform_": lambda t, x, w, b, im: x.clone().uniform_(),
    "index_add": lambda t, x, w, b, im: x.index_add(0,t.tensor([0]),x[:1]),
    "index_copy": lambda t, x, w, b, im: x.index_copy(0,t.tensor([0]),x[:1]),
    "index_fill": lambda t, x, w, b, im: x.index_fill(0,t.tensor([0]),1.),
    "index_fill_t": lambda t, x, w, b, im: x.index_fill(0,t.tensor([0]),x[0,0]),
    "scatter": lambda t, x, w, b, im: x.scatter(0,t.tensor([[0]]),x), "scatter_v": lambda t, x, w, b, im: x.scatter(0,t.tensor([[0]]),1.),
    "scatter_add": lambda t, x, w, b, im: x.scatter_add(0,t.tensor([[0]]),x),
    "index_put": lambda t, x, w, b, im: x.index_put((t.tensor([0]),),b[:3]),
    "index_put_a": lambda t, x, w, b, im: x.index_put((t.tensor([0]),),b[:3],accumulate=True),
    "clamp_t": lambda t, x, w, b, im: x.clamp(x,x), "sumk": lambda t, x, w, b, im: x.sum(1,keepdim=True),
    "sumt": lambda t, x, w, b, im: x.sum(dtype=t.float64), "anyd": lambda t, x, w, b, im: (x>0).any(0),
    "anyds": lambda t, x, w, b, im: (x>0).any((0,1),True), "prodd": lambda t, x, w, b, im: x.prod(0),
    "medians": lambda t, x, w, b, im: (x.median(),x.median(0)), "logsumexps": lambda t, x, w, b, im: x.logsumexp((0,1)),
    "sorts": lambda t, x, w, b, im: (x.sort(0,True),x.sort(stable=True)), "flip": lambda t, x, w, b, im: x.flip(0),
    "roll": lambda t, x, w, b, im: x.roll(1,0), "vard2": lambda t, x, w, b, im: x.var((0,1),correction=0,keepdim=True),
    "maxpool_p": lambda t, x, w, b, im: t.nn.functional.max_pool2d(im,3,2,1),
    "avgpool_p": lambda t, x, w, b, im: t.nn.functional.avg_pool2d(im,3,1,1,False,False),
    "unfold": lambda t, x, w, b, im: x.unfold(0,1,1), "as_strided": lambda t, x, w, b, im: x.as_strided((2,),(1,)),
    "linalg_cross": lambda t, x, w, b, im: t.linalg.cross(x,x),
}


def plain(t: Any, value: Any) -> Any:
    """An argument as JSON: tensors by their shape."""
    if isinstance(value, t.Tensor):
        return {"shape": list(value.shape), "dtype": str(value.dtype)}
    if isinstance(value, (list, tuple)):
        return [plain(t, v) for v in value]
    if isinstance(value, dict):
        return {k: plain(t, v) for k, v in value.items()}
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)


def seen(t: Any, name: str) -> Any:
    """What a mode sees of a case: operations, and their arguments."""
    mode: Any = import_module(f"{t.__name__}.utils._python_dispatch").TorchDispatchMode
    found: list[Any] = []

    class Look(mode):  # type: ignore[misc]  # torch's class or ours
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found.append([str(func), plain(t, args), plain(t, kwargs or {})])
            return func(*args, **(kwargs or {}))

    t.manual_seed(0)
    arguments = t.randn(2, 3), t.randn(4, 3), t.randn(4), t.randn(1, 2, 4, 4)
    with Look():
        CASES[name](t, *arguments)
    return found


TABLE = Table("aten", CASES, seen)
