"""Indices that change between the forward and the backward pass, through an array that shares their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import torchcompat as torch

F = torch.nn.functional
ROWS, CLASSES = {"small": 4, "big": 2000}, 20


def _pooled(size: int, function: Callable[..., Any], *shape: int) -> tuple[Any, Any]:
    loss, index = function(torch.randn(size, *shape, requires_grad=True), 2, return_indices=True)
    return loss, index


def _selected(size: int, name: str, *args: Any) -> tuple[Any, Any]:
    result = getattr(torch.randn(size, CLASSES, requires_grad=True), name)(*args)
    return result[0], result[1]


def _by_index(function: Callable[..., Any], *index_shape: int, rows: int | None = None) -> Callable[[int], tuple[Any, Any]]:
    def make(size: int) -> tuple[Any, Any]:
        index = torch.randint(0, CLASSES, (size, *index_shape))
        return function(torch.randn(size if rows is None else rows, CLASSES, requires_grad=True), index), index

    return make


def _pixels(function: Callable[..., Any]) -> Callable[[int], tuple[Any, Any]]:
    def make(size: int) -> tuple[Any, Any]:
        index = torch.randint(0, CLASSES, (size, 3, 5))
        return function(torch.randn(size, CLASSES, 3, 5, requires_grad=True), index), index

    return make


def _unpooled(size: int) -> tuple[Any, Any]:
    x, index = F.max_pool1d(torch.randn(size, 3, 16), 2, return_indices=True)
    return F.max_unpool1d(x.requires_grad_(), index, 2), index


def _zeros(x: Any) -> Any:
    return torch.zeros(*x.shape)


CASES: dict[str, Callable[[int], tuple[Any, Any]]] = {
    "cross_entropy": _by_index(F.cross_entropy),
    "cross_entropy with weights": _by_index(lambda x, i: F.cross_entropy(x, i, torch.rand(CLASSES), label_smoothing=0.1)),
    "cross_entropy of pixels": _pixels(F.cross_entropy),
    "nll_loss": _by_index(F.nll_loss),
    "nll_loss of pixels": _pixels(F.nll_loss),
    "multi_margin_loss": _by_index(F.multi_margin_loss),
    "embedding": _by_index(lambda x, i: F.embedding(i, x), rows=CLASSES),
    "embedding by frequency": _by_index(lambda x, i: F.embedding(i, x, 1, scale_grad_by_freq=True), 3, rows=CLASSES),
    "embedding_bag": _by_index(lambda x, i: F.embedding_bag(i, x), 3, rows=CLASSES),
    "gather": _by_index(lambda x, i: x.gather(1, i), CLASSES),
    "take": _by_index(torch.take, 3),
    "scatter": _by_index(lambda x, i: _zeros(x).scatter(1, i, x), CLASSES),
    "scatter_add": _by_index(lambda x, i: _zeros(x).scatter_add(1, i, x), CLASSES),
    "scatter_reduce": _by_index(lambda x, i: _zeros(x).scatter_reduce(1, i, x, "amax"), CLASSES),
    "index_select": _by_index(lambda x, i: x.index_select(0, i), rows=CLASSES),
    "index_add": _by_index(lambda x, i: torch.zeros(CLASSES, CLASSES).index_add(0, i, x)),
    "index_put": _by_index(lambda x, i: torch.zeros(CLASSES, CLASSES).index_put((i,), x, accumulate=True)),
    "rows": _by_index(lambda x, i: x[i], rows=CLASSES),
    "columns": _by_index(lambda x, i: x[:, i]),
    "max_pool1d": lambda n: _pooled(n, F.max_pool1d, 3, 16),
    "max_pool2d": lambda n: _pooled(n, F.max_pool2d, 2, 6, 8),
    "adaptive_max_pool2d": lambda n: _pooled(n, F.adaptive_max_pool2d, 2, 6, 8),
    "topk": lambda n: _selected(n, "topk", 3, 1),
    "sort": lambda n: _selected(n, "sort", 1),
    "max": lambda n: _selected(n, "max", 1),
    "median": lambda n: _selected(n, "median", 1),
    "cummax": lambda n: _selected(n, "cummax", 1),
    "min": lambda n: _selected(n, "min", 1),
    "kthvalue": lambda n: _selected(n, "kthvalue", 3, 1),
    "mode": lambda n: _selected(n, "mode", 1),
    "nanmedian": lambda n: _selected(n, "nanmedian", 1),
    "cummin": lambda n: _selected(n, "cummin", 1),
    "max_unpool1d": lambda n: _unpooled(n),
    "index_copy": _by_index(lambda x, i: torch.zeros(CLASSES, CLASSES).index_copy(0, i, x)),
    "index_fill": _by_index(lambda x, i: x.index_fill(0, i, 2.0), rows=CLASSES),
    "index_reduce": _by_index(lambda x, i: torch.zeros(CLASSES, CLASSES).index_reduce(0, i, x, "amax")),
    "put": _by_index(lambda x, i: torch.zeros(CLASSES, CLASSES).put(i, x), CLASSES),
    "take_along_dim": _by_index(lambda x, i: torch.take_along_dim(x, i, 1), CLASSES),
}
COUNTED_FROM_THE_END = {"take", "put", "index_put", "index_fill", "rows", "columns"}
"""Where -1 is an index like any other, as it is in the forward pass."""


@pytest.mark.parametrize("size", ROWS)
@pytest.mark.parametrize("bad, case", [(bad, case) for case in CASES for bad in (10**6, -(10**6), -1)
                                       if bad != -1 or case not in COUNTED_FROM_THE_END])
def test_changed_indices_are_refused(case: str, bad: int, size: str) -> None:
    """Also -1, which NumPy would count from the end: the gradient would go to another row, without a word."""
    torch.manual_seed(0)
    rows = ROWS[size] if case != "columns" else min(ROWS[size], 200)
    if "pool" in case or "pixels" in case:
        rows = max(2, rows // 8)
    loss, index = CASES[case](rows)
    index.numpy()[...] = bad
    with pytest.raises((IndexError, RuntimeError), match="out of (bounds|range)|outside|out of range"):
        loss.sum().backward()


@pytest.mark.parametrize("case", CASES)
def test_indices_changed_by_an_operation_are_refused(case: str) -> None:
    torch.manual_seed(0)
    loss, index = CASES[case](4)
    index.view(-1)[:1].fill_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        loss.sum().backward()


@pytest.mark.parametrize("case", sorted(COUNTED_FROM_THE_END))
def test_minus_one_counts_from_the_end_as_in_the_forward_pass(case: str) -> None:
    """torch reads a changed index in the same way: the gradient is that of the last element."""
    def gradient(at: int) -> Any:
        torch.manual_seed(0)
        loss, index = CASES[case](4)
        index.numpy()[...] = at
        leaves, todo = [], [loss.grad_fn]
        while todo:
            node = todo.pop()
            leaves += [node.variable] if hasattr(node, "variable") else []
            todo += [n for n, _ in node.next_functions if n is not None]
        return torch.autograd.grad(loss.sum(), leaves)

    last = {"take": 4 * CLASSES, "put": CLASSES * CLASSES}.get(case, CLASSES) - 1
    for found, expected in zip(gradient(-1), gradient(last), strict=True):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("bad", [CLASSES, -CLASSES - 1])
@pytest.mark.parametrize("case", ["rows", "columns"])
def test_what_is_out_of_range_is_named_as_torch_does(case: str, bad: int) -> None:
    loss, index = CASES[case](4)
    index.numpy()[...] = bad
    with pytest.raises(IndexError, match=f"^index {bad} is out of bounds for dimension 0 with size {CLASSES}$"):
        loss.sum().backward()
