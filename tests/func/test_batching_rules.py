"""Batching rules: whole batches at once give what a loop over examples gives, whichever arguments are batches."""

from __future__ import annotations

import itertools
from typing import Any
from collections.abc import Callable

import pytest

import torchcompat as torch
import torchcompat.nn.functional as F
from torchcompat.func import _batching, grad, jacrev, vmap

SIZE = 3
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {}


def case(name: str, function: Callable[..., Any], *args: Any) -> None:
    assert name not in CASES
    CASES[name] = function, list(args)


def real(*shape: int) -> Any:
    """Fixed numbers, a batch of examples of a shape."""
    n = SIZE
    for s in shape:
        n *= s
    return (torch.arange(n, dtype=torch.float64) * 0.7 + 0.3 + len(shape)).sin().reshape(SIZE, *shape)


def places(bound: int, *shape: int) -> Any:
    """Fixed positions below a bound, with repetitions."""
    return (real(*shape) * 1000).abs().long() % bound


def distinct(bound: int, n: int) -> Any:
    """Fixed positions below a bound, none twice in an example."""
    return real(bound).argsort(1)[:, :n]


def put(x: Any, *key: Any, v: Any) -> Any:
    y = x + 0 * v.sum() + sum(0 * k.sum() for k in key if isinstance(k, torch.Tensor))
    y[key] = v
    return y


ALL = slice(None)
X, I, J, U = real(4, 5, 6), places(4, 2), places(4, 7, 2), distinct(4, 2)

case("index", lambda x, i: x[i], X, I)
case("index behind a slice", lambda x, i: x[:, i], X, I)
case("index apart", lambda x, i: x[i, :, i], X, I)
case("index of two", lambda x, j: x[:, j, j], X, J)
case("index of different ranks", lambda x, j, i: x[j, :, i], X, J, I)
case("index by a mask apart", lambda x: x[torch.tensor([True, False, True, True]), :, torch.tensor([0, 2, 1])], X)
case("gradient of index", lambda x, i: grad(lambda y: (y[:, i] ** 2).sum())(x), X, I)
case("gradient of index apart", lambda x, i: grad(lambda y: (y[i, :, i] ** 2).sum())(x), X, I)
case("index_put", lambda x, i, v: torch.index_put(x + 0 * v.sum(), (torch.tensor([0, 1]), i), v), X, I, real(2, 6))
case("index_put of rows", lambda x, v: torch.index_put(x + 0 * v.sum(), (torch.tensor([0, 1]),), v), X, real(6))
case("assignment apart by shared indices", lambda x, v: put(x, torch.tensor([0, 1]), ALL, torch.tensor([2, 1]), v=v), X, real(2, 5))
case("assignment behind a slice", lambda x, i, v: put(x, ALL, i, v=v), X, U, real(4, 2, 6))
case("assignment apart", lambda x, i, v: put(x, i, ALL, i, v=v), X, U, real(2, 5))
case("index_add", lambda x, i, s: x.index_add(0, i, s, alpha=2), X, I, real(2, 5, 6))
case("index_copy", lambda x, i, s: x.index_copy(0, i, s), X, U, real(2, 5, 6))
case("index_copy along 1", lambda x, i, s: x.index_copy(1, i, s), X, U, real(4, 2, 6))
for name in ("mean", "prod", "amax", "amin"):
    case(f"index_reduce {name}", lambda x, i, s, name=name: x.index_reduce(0, i, s, name, include_self=False), X, I, real(2, 5, 6))
case("index_fill", lambda x, i: x.index_fill(1, i, 2.0), X, I)
case("index_fill with a tensor", lambda x, i, v: x.index_fill(1, i, v), X, I, real())
case("index_select", lambda x, i: x.index_select(1, i), X, I)
case("take", lambda x, i: x.take(i), X, J - 3)
case("put", lambda x, i, s: x.put(i, s, True), X, J, real(7, 2))
case("gather", lambda x, i: x.gather(0, i), real(5), I)
case("gather of numbers", lambda x, i: x.gather(0, i), real(), torch.zeros(SIZE, dtype=torch.long))
case("gradient of an extreme of numbers", lambda x: grad(lambda y: y.amax())(x), real())
case("quantile", lambda x, q: x.quantile(q, 1), X, real(2).abs())
case("quantile of all", lambda x, q: x.quantile(q, keepdim=True), X, real().abs())
case("nanquantile", lambda x, q: x.nanquantile(q, 0, keepdim=True), X, real(4).abs())
case("embedding", lambda i, w: F.embedding(i, w, padding_idx=1, scale_grad_by_freq=True), J, real(6, 4))
case("gradient of embedding", lambda i, w: grad(lambda q: (F.embedding(i, q, padding_idx=1) ** 2).sum())(w), J, real(6, 4))
case("gradient of embedding by frequency",
     lambda i, w: grad(lambda q: (F.embedding(i, q, padding_idx=1, scale_grad_by_freq=True) ** 2).sum())(w), J, real(6, 4))
case("second derivative of embedding", lambda i, w: jacrev(grad(lambda q: (F.embedding(i, q, padding_idx=1) ** 3).sum()))(w),
     I, real(4, 2))
case("embedding_bag", lambda i, w: F.embedding_bag(i, w), J, real(6, 4))
case("embedding_bag by offsets", lambda i, w, p: F.embedding_bag(i, w, torch.tensor([0, 2]), mode="sum", per_sample_weights=p),
     places(6, 5), real(6, 4), real(5))
case("searchsorted", lambda a, b: torch.searchsorted(a, b), real(6).sort(1).values, real(2, 2))
case("searchsorted of rows", lambda a, b: torch.searchsorted(a, b, right=True, out_int32=True), real(2, 6).sort(2).values, real(2, 2))
case("searchsorted of a number", lambda a: torch.searchsorted(a, 0.25), real(6).sort(1).values)
case("bucketize", lambda a, b: torch.bucketize(b, a), real(6).sort(1).values, real(2, 2))

LOGITS, LABELS, WEIGHTS = real(5, 4), places(4, 5), real(4).abs()
LABELS[0, 0] = -100
for reduction, smoothing in itertools.product(("mean", "sum", "none"), (0.0, 0.2)):
    options = {"reduction": reduction, "label_smoothing": smoothing}
    case(f"cross_entropy {reduction} {smoothing}", lambda x, t, w, o=options: F.cross_entropy(x, t, w, **o), LOGITS, LABELS, WEIGHTS)
    case(f"cross_entropy of one {reduction} {smoothing}", lambda x, t, w, o=options: F.cross_entropy(x, t, w, **o), LOGITS[:, 0],
         LABELS[:, 1], WEIGHTS)
    case(f"gradient of cross_entropy {reduction} {smoothing}",
         lambda x, t, w, o=options: grad(lambda y: F.cross_entropy(y, t, w, **o).sum())(x), LOGITS, LABELS, WEIGHTS)
for reduction in ("mean", "sum", "none"):
    case(f"nll_loss {reduction}", lambda x, t, w, r=reduction: F.nll_loss(x, t, w, reduction=r), LOGITS.log_softmax(2), LABELS, WEIGHTS)

Q, M = real(2, 5, 4), real(5, 5)
attention = F.scaled_dot_product_attention
case("attention", lambda q, k, m: attention(q, k, k, m), Q, Q.cos(), M)
case("attention with a mask", lambda q, k, m: attention(q, k, k, m > -2), Q, Q.cos(), M)
case("attention of matrices", lambda q, k, m: attention(q, k, k, m), Q[:, 0], Q[:, 1], M)
case("attention of heads", lambda q, k, m: attention(q, k, k, m), Q[:, None], Q.cos()[:, None], M)
case("gradient of attention", lambda q, k, m: grad(lambda b: (attention(q, k, k, b) ** 2).sum())(m), Q, Q.cos(), M)
for mode in ("bilinear", "nearest", "bicubic"):
    case(f"grid_sample {mode}", lambda x, g, m=mode: F.grid_sample(x, g, mode=m, align_corners=False), real(2, 2, 4, 4), real(2, 3, 3, 2))
case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), real(2, 4, 3), real(4), real(4).cos())
case("layer_norm", lambda x, w, b: F.layer_norm(x, (4, 3), w, b), real(2, 4, 3), real(4, 3), real(4, 3).cos())
case("max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), real(1, 4, 4))
case("max_unpool1d", lambda x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2), real(2, 1, 4))
case("gradient of avg_pool2d", lambda x: grad(lambda y: (F.avg_pool2d(y, 2) ** 2).sum())(x), real(1, 1, 4, 4))
case("gradient of adaptive_avg_pool1d", lambda x: grad(lambda y: (F.adaptive_avg_pool1d(y, 3) ** 2).sum())(x), real(2, 7))
case("gradient of reflection", lambda x: grad(lambda y: (F.pad(y, (2, 1), "reflect") ** 2).sum())(x), real(1, 2, 5))
case("fold", lambda x: F.fold(x, (4, 5), (2, 2)), real(1, 8, 12))
case("interpolate", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), real(1, 2, 4, 4))
case("gradient of as_strided", lambda x: grad(lambda y: (y.as_strided((3, 2), (1, 1)) ** 2).sum())(x), real(4))

case("addr", lambda x, a, b: torch.addr(x, a, b, beta=2, alpha=3), real(4), real(5), real(4))
case("addbmm", torch.addbmm, real(5, 6), real(2, 5, 4), real(2, 4, 6))
case("addmv", torch.addmv, real(5), real(5, 4), real(4))
case("addmm", torch.addmm, real(6), real(5, 4), real(4, 6))
case("addmm without the first", lambda a, b, c: torch.addmm(a, b, c, beta=0), real(6), real(5, 4), real(4, 6))
case("baddbmm", torch.baddbmm, real(6), real(2, 5, 4), real(2, 4, 6))
case("linear", F.linear, real(2, 4), real(5, 4), real(5))
case("linear by a vector", F.linear, real(2, 4), real(4), real())
case("block_diag", lambda a, b, c: torch.block_diag(a, b, c), real(2, 4), real(4), real())
case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, 0), real(2, 4), real(4))
case("cosine_similarity of numbers", lambda a, b: F.cosine_similarity(a, b, 0), real(), real())
case("cdist", torch.cdist, real(2, 5, 4), real(6, 4))
case("cdist by products", torch.cdist, real(30, 4), real(28, 4))
case("solve", torch.linalg.solve, real(4, 4) + 3 * torch.eye(4, dtype=torch.float64), real(2, 4, 3))
case("logdet", torch.logdet, real(3, 3) + 3 * torch.eye(3, dtype=torch.float64))
case("frexp", lambda x: tuple(torch.frexp(x)), real(4))


@pytest.mark.parametrize("name", list(CASES))
def test_whole_batches_give_what_a_loop_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, args = CASES[name]
    for dims in itertools.product((0, -1, None), repeat=len(args)):
        if dims.count(None) == len(dims):
            continue
        given = [a[0] if d is None else a.movedim(0, d) for a, d in zip(args, dims)]

        def refuse(level: Any, function: Any, args: Any, op: str) -> Any:
            raise AssertionError(f"{op} is carried out example by example")

        with monkeypatch.context() as patch:
            patch.setattr(_batching, "loop", refuse)
            whole = vmap(function, dims)(*given)
        for i in range(SIZE):
            each = function(*[a if d is None else a.select(d, i) for a, d in zip(given, dims)])
            for w, e in zip(*[r if isinstance(r, tuple) else (r,) for r in (whole, each)], strict=True):
                assert w[i].shape == e.shape and w.dtype is e.dtype
                assert torch.allclose(w[i].double(), e.double(), rtol=1e-9, atol=1e-11, equal_nan=True)
