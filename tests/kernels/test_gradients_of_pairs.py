"""Gradients of distances, lengths and losses of differences, and bags of rows: machine code and NumPy's passes give the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels._on_demand import use_numba
from autograd_tape.ops.reductions.norms import _cdist_backward, _pdist_backward

ODD = [0.0, -0.0, inf, -inf, float("nan"), 1e30]
LOSSES = ("smooth_l1_loss", "huber_loss", "mse_loss", "binary_cross_entropy")


@contextmanager
def kernels(mode: str) -> Iterator[None]:
    previous = use_numba(mode)
    try:
        yield
    finally:
        use_numba(previous)


def in_both_modes(gradients: Callable[[], list[np.ndarray]]) -> None:
    found = []
    for mode in ("numpy", "numba"):
        with kernels(mode):
            found.append(gradients())
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def points(rows: int, columns: int, dtype: torch.dtype, odd: bool) -> torch.Tensor:
    x = np.random.default_rng(rows).standard_normal((rows, columns))
    x[1], x[2, 0] = x[0], x[3, 0]
    if odd:
        x.reshape(-1)[: len(ODD)] = ODD
    return torch.tensor(x, dtype=dtype).requires_grad_()


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("odd", [False, True])
def test_distances(p: float, dtype: torch.dtype, odd: bool) -> None:
    x, z = points(9, 5, dtype, odd), points(6, 5, dtype, False)
    (pairs, behind), (all_pairs, cross) = [(d, np.cos(np.arange(d.size, dtype=d.dtype)).reshape(d.shape))
                                           for d in (torch.pdist(x, p).detach().numpy(), torch.cdist(x, z, p).detach().numpy())]
    x, z = x.detach().numpy(), z.detach().numpy()
    in_both_modes(lambda: [_pdist_backward(behind, x, pairs, p), _cdist_backward(cross, x, z, all_pairs, p),
                           _cdist_backward(cross.T, z, x, all_pairs.T, p)])


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0, inf])
def test_distances_have_the_gradient_of_norms(p: float) -> None:
    x, z = points(7, 4, torch.float64, False), points(5, 4, torch.float64, False)
    first, second = torch.triu_indices(7, 7, 1)
    with kernels("numba"):
        found = [*torch.autograd.grad(torch.pdist(x, p).sum(), x), *torch.autograd.grad(torch.cdist(x, z, p).sum(), (x, z))]
    norms = torch.linalg.vector_norm(x[first] - x[second], p, -1), torch.linalg.vector_norm(x[:, None] - z, p, -1)
    for a, b in zip(found, [*torch.autograd.grad(norms[0].sum(), x), *torch.autograd.grad(norms[1].sum(), (x, z))], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_losses(name: str, reduction: str, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(0)
    x, t = [torch.tensor(rng.uniform(0.0, 1.0, (13, 5)) * (1 if "entropy" in name else 3), dtype=dtype) for _ in range(2)]
    g = torch.tensor(rng.standard_normal((13, 5) if reduction == "none" else ()), dtype=dtype)
    columns = x.mT.contiguous().mT

    def gradients() -> list[np.ndarray]:
        made = []
        for a in (x, columns):
            a = a.detach().requires_grad_()
            made += torch.autograd.grad(getattr(torch.nn.functional, name)(a, t, reduction=reduction), a, g)
        return [d.float().numpy() for d in made]

    in_both_modes(gradients)


@pytest.mark.parametrize("name", LOSSES[:3])
@pytest.mark.parametrize("shapes", [((5,), (3, 5)), ((3, 5), (5,)), ((3, 1), (1, 5))], ids=str)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_means_of_losses_count_what_is_broadcast(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    pair = [torch.rand(shape, dtype=torch.float64).requires_grad_() for shape in shapes]
    loss = getattr(torch.nn.functional, name)
    expected = torch.autograd.grad(loss(*torch.broadcast_tensors(*pair), reduction="none").mean(), pair)
    for a, b in zip(torch.autograd.grad(loss(*pair), pair), expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


@pytest.mark.parametrize("dim", [None, 0, 1, -1, (1, 2), (0, 2)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_lengths(dim: int | tuple[int, ...] | None, dtype: torch.dtype) -> None:
    numbers = np.random.default_rng(2).standard_normal((4, 3, 5))
    numbers[1], numbers[:, 2] = 0.0, -0.0
    given = [torch.tensor(numbers, dtype=dtype), torch.tensor(numbers.T.copy(), dtype=dtype).permute(2, 1, 0)]
    with kernels("numpy"):
        lengths = [torch.linalg.vector_norm(x.requires_grad_(), 2, dim, kept) for x in given for kept in (False, True)]

    def gradients() -> list[np.ndarray]:
        found = [torch.autograd.grad(n, given[i // 2], torch.cos(n.detach()), retain_graph=True)[0] for i, n in enumerate(lengths)]
        return [d.float().numpy() for d in found]

    in_both_modes(gradients)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_bags(mode: str, weighted: bool, dtype: torch.dtype) -> None:
    if weighted and mode != "sum":
        return
    rng = np.random.default_rng(3)
    table, index = torch.tensor(rng.standard_normal((9, 4)), dtype=dtype), torch.tensor(rng.integers(0, 9, (6, 4)))
    weights, starts = torch.tensor(rng.standard_normal((6, 4)), dtype=dtype) if weighted else None, torch.tensor([0, 5, 5, 23])
    bag = torch.nn.functional.embedding_bag

    def bags() -> list[np.ndarray]:
        flat = None if weights is None else weights.reshape(-1)
        made = [bag(index, table, mode=mode, per_sample_weights=weights),
                bag(index.reshape(-1), table, starts, mode=mode, per_sample_weights=flat)]
        return [b.float().numpy() for b in made]

    in_both_modes(bags)
    for wrong in (-1, 9):
        index[2, 1] = wrong
        with pytest.raises((RuntimeError, IndexError)):
            bags()
        index[2, 1] = 0
