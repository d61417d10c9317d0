"""Single operations at BERT-base sizes (batch 8, sequence 128, hidden 768, 12 heads) and CNN sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import add, fill_parameters, floats, integers

Call = Callable[[], Any]
HIDDEN = (8, 128, 768)
INNER = (8, 128, 3072)
SCORES = (8, 12, 128, 128)
HEADS = (8, 12, 128, 64)
IMAGES = (16, 64, 28, 28)


def kernel(
    section: str,
    name: str,
    operation: Callable[..., Any],
    *shapes: tuple[int, ...],
    backward: bool = True,
    random: bool = False,
    extra: Callable[[Any], tuple[Any, ...]] = lambda torch: (),
) -> None:
    """Register ``operation(torch, *tensors, *extra)`` forward without grad and, if asked, forward with backward.

    The cotangent of a result that is not a scalar is a fixed tensor passed to ``backward``, so that no reduction is timed.
    """

    def forward_setup(torch: Any) -> Call:
        arguments = [floats(torch, *shape, seed=i) for i, shape in enumerate(shapes)]
        others = extra(torch)
        return lambda: operation(torch, *arguments, *others)

    def backward_setup(torch: Any) -> Call:
        leaves = [floats(torch, *shape, seed=i, grad=True) for i, shape in enumerate(shapes)]
        others = extra(torch)
        with torch.no_grad():
            result = operation(torch, *leaves, *others)
        cotangent = floats(torch, *result.shape, seed=99) if result.dim() else None

        def run() -> Any:
            for leaf in leaves:
                leaf.grad = None
            operation(torch, *leaves, *others).backward(cotangent)
            return [leaf.grad for leaf in leaves]

        return run

    add("kernels", section, name, forward_setup, random=random)
    if backward:
        add("kernels", section, name + " fwd+bwd", backward_setup, random=random)


def _functional(name: str, **kwargs: Any) -> Callable[..., Any]:
    return lambda torch, *args: getattr(torch.nn.functional, name)(*args, **kwargs)


def _attention(torch: Any, q: Any, k: Any, v: Any) -> Any:
    weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * 0.125, dim=-1)
    return torch.matmul(weights, v)


def _batch_norm_statistics(torch: Any) -> tuple[Any, Any]:
    return torch.zeros(64), torch.ones(64)


kernel("pointwise", "exp", lambda torch, x: torch.exp(x), HIDDEN)
kernel("pointwise", "tanh", lambda torch, x: torch.tanh(x), HIDDEN)
kernel("pointwise", "sigmoid", lambda torch, x: torch.sigmoid(x), HIDDEN)
kernel("pointwise", "relu", lambda torch, x: torch.relu(x), INNER)
kernel("pointwise", "silu", _functional("silu"), INNER)
kernel("pointwise", "gelu", _functional("gelu"), INNER)
kernel("pointwise", "gelu tanh", _functional("gelu", approximate="tanh"), INNER)
kernel("pointwise", "add", lambda torch, x, y: x + y, HIDDEN, HIDDEN)
kernel("pointwise", "add bias", lambda torch, x, y: x + y, INNER, (3072,))
kernel("pointwise", "mul", lambda torch, x, y: x * y, HIDDEN, HIDDEN)
kernel("pointwise", "dropout", _functional("dropout", p=0.1, training=True), HIDDEN, random=True)
kernel("pointwise", "where", lambda torch, x, y: torch.where(x > 0, x, y), HIDDEN, HIDDEN)

kernel("reductions", "sum", lambda torch, x: x.sum(), INNER)
kernel("reductions", "sum rows", lambda torch, x: x.sum(-1), INNER)
kernel("reductions", "sum columns", lambda torch, x: x.sum((0, 1)), INNER)
kernel("reductions", "mean", lambda torch, x: x.mean(), INNER)
kernel("reductions", "var rows", lambda torch, x: x.var(-1), HIDDEN)
kernel("reductions", "max rows", lambda torch, x: x.max(-1)[0], HIDDEN)
kernel("reductions", "argmax rows", lambda torch, x: x.argmax(-1), HIDDEN, backward=False)
kernel("reductions", "cumsum", lambda torch, x: x.cumsum(1), HIDDEN)
kernel("reductions", "topk", lambda torch, x: x.topk(8, dim=-1)[0], HIDDEN, backward=False)

kernel("softmax and losses", "softmax", lambda torch, x: torch.softmax(x, dim=-1), SCORES)
kernel("softmax and losses", "log_softmax", lambda torch, x: torch.log_softmax(x, dim=-1), (128, 30522))
kernel(
    "softmax and losses", "cross_entropy", _functional("cross_entropy"), (128, 30522),
    extra=lambda torch: (integers(torch, 30522, 128),),
)  # fmt: skip
kernel(
    "softmax and losses", "cross_entropy, 10 classes", _functional("cross_entropy"), (1024, 10),
    extra=lambda torch: (integers(torch, 10, 1024),),
)  # fmt: skip
kernel("softmax and losses", "mse_loss", _functional("mse_loss"), HIDDEN, HIDDEN)

kernel(
    "normalisation", "layer_norm", lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (768,), w, b),
    HIDDEN, (768,), (768,),
)  # fmt: skip
kernel(
    "normalisation", "batch_norm",
    lambda torch, x, w, b, mean, var: torch.nn.functional.batch_norm(x, mean, var, w, b, training=True),
    IMAGES, (64,), (64,), extra=_batch_norm_statistics,
)  # fmt: skip
kernel(
    "normalisation", "batch_norm, evaluation",
    lambda torch, x, w, b, mean, var: torch.nn.functional.batch_norm(x, mean, var, w, b, training=False),
    IMAGES, (64,), (64,), extra=_batch_norm_statistics, backward=False,
)  # fmt: skip
kernel(
    "normalisation", "group_norm", lambda torch, x, w, b: torch.nn.functional.group_norm(x, 8, w, b),
    IMAGES, (64,), (64,),
)  # fmt: skip

kernel("matmul and attention", "matmul 1024x768x768", lambda torch, x, w: x @ w, (1024, 768), (768, 768))
kernel("matmul and attention", "linear 768 to 3072", _functional("linear"), HIDDEN, (3072, 768), (3072,))
kernel("matmul and attention", "bmm", lambda torch, x, y: torch.bmm(x, y), (96, 128, 64), (96, 64, 128))
kernel("matmul and attention", "attention by hand", _attention, HEADS, HEADS, HEADS)
kernel(
    "matmul and attention",
    "scaled_dot_product_attention",
    _functional("scaled_dot_product_attention"),
    HEADS,
    HEADS,
    HEADS,
)
kernel(
    "matmul and attention", "embedding", lambda torch, w, i: torch.nn.functional.embedding(i, w), (30522, 256),
    extra=lambda torch: (integers(torch, 30522, 8, 128),),
)  # fmt: skip
kernel("matmul and attention", "transpose copy", lambda torch, x: x.transpose(1, 2).contiguous(), HEADS)

kernel("convolution", "conv2d 3x3, 64 to 64", _functional("conv2d", padding=1), IMAGES, (64, 64, 3, 3), (64,))
kernel(
    "convolution", "conv2d 3x3, stride 2", _functional("conv2d", padding=1, stride=2), IMAGES, (128, 64, 3, 3), (128,)
)
kernel("convolution", "conv2d 1x1", _functional("conv2d"), IMAGES, (128, 64, 1, 1), (128,))
kernel("convolution", "conv2d 5x5, 1 to 6", _functional("conv2d"), (64, 1, 28, 28), (6, 1, 5, 5), (6,))
kernel("convolution", "conv2d depthwise", _functional("conv2d", padding=1, groups=64), IMAGES, (64, 1, 3, 3), (64,))
kernel("convolution", "max_pool2d", _functional("max_pool2d", kernel_size=2), IMAGES)
kernel("convolution", "avg_pool2d", _functional("avg_pool2d", kernel_size=2), IMAGES)


def _optimizer(name: str, build: Callable[[Any, list[Any]], Any]) -> None:
    """One step over the parameters of a BERT feed-forward block (4.7 million)."""

    def setup(torch: Any) -> Call:
        nn = torch.nn
        block = fill_parameters(torch, nn.Sequential(nn.Linear(768, 3072), nn.Linear(3072, 768)))
        parameters = list(block.parameters())
        for i, p in enumerate(parameters):
            p.grad = floats(torch, *p.shape, seed=i)
        optimizer = build(torch, parameters)

        def run() -> Any:
            optimizer.step()
            return parameters

        return run

    add("kernels", "optimizers", name, setup)


_optimizer("SGD step", lambda torch, p: torch.optim.SGD(p, lr=1e-6))
_optimizer("SGD momentum step", lambda torch, p: torch.optim.SGD(p, lr=1e-6, momentum=0.9))
_optimizer("Adam step", lambda torch, p: torch.optim.Adam(p, lr=1e-6))
_optimizer("AdamW step", lambda torch, p: torch.optim.AdamW(p, lr=1e-6))
