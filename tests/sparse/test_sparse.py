"""Sparse tensors: what calls on them give, and their gradients, as recorded from torch."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from tests.sparse.layout_cases import SPARSE_LAYOUTS
from tests.sparse.sparse_cases import SPARSE_CALLS, SPARSE_GRADIENTS, SPARSE_OPTIMIZERS

import torchcompat as torch
from autograd_tape import Tape
from autograd_tape.calls import LISTENING
from autograd_tape.ops import RECORDS
from torchcompat.sparse import _door


@pytest.mark.parametrize("group", range(4))
def test_calls_give_what_torch_gives(group: int) -> None:
    SPARSE_CALLS.assert_as_torch(torch, *SPARSE_CALLS.part(group, 4))


@pytest.mark.parametrize("group", range(8))
def test_layouts_meet_as_they_do_in_torch(group: int) -> None:
    SPARSE_LAYOUTS.assert_as_torch(torch, *SPARSE_LAYOUTS.part(group, 8))


@pytest.mark.parametrize("group", range(2))
def test_gradients_are_those_of_torch(group: int) -> None:
    SPARSE_GRADIENTS.assert_as_torch(torch, *SPARSE_GRADIENTS.part(group, 2))


@pytest.mark.parametrize("case", SPARSE_OPTIMIZERS.recorded)
def test_optimizers_take_sparse_gradients_as_torch_does(case: str) -> None:
    SPARSE_OPTIMIZERS.assert_as_torch(torch, case)


def test_dense_programs_load_nothing_of_it() -> None:
    """Who has no sparse tensors imports no module of theirs, and nobody listens for them."""
    code = ("import sys, torchcompat as torch; torch.ones(2, requires_grad=True).sum().backward(); torch.nn.Embedding(3, 2); "
            "print([m for m in sys.modules if m.startswith('torchcompat.sparse')], torch.ones(2).is_sparse, torch.ones(2).layout)")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert out.split() == ["[]", "False", "torch.strided"]


def random_sparse(rng: np.random.Generator, shape: tuple[int, ...], n: int, dense: tuple[int, ...] = ()) -> torch.Tensor:
    """A tensor with `n` elements anywhere, some of them twice."""
    indices = np.stack([rng.integers(0, size, n) for size in shape])
    return torch.sparse_coo_tensor(torch.from_numpy(indices), torch.from_numpy(rng.standard_normal((n, *dense))), (*shape, *dense))


@pytest.mark.parametrize("name", [name for name, rec in RECORDS.items() if rec.field("sparse")])
def test_functions_of_zero_that_are_zero_are_those_of_dense_tensors(name: str) -> None:
    x = random_sparse(np.random.default_rng(0), (4, 5), 12) * 0.2
    function = getattr(torch, name)
    x = x.abs() if name == "sqrt" else x
    for y in (x, x.to_sparse_csr()):
        assert torch.equal(function(y).to_dense(), function(x.to_dense()))


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc])
@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_copies_in_place_lead_gradients_to_what_was_copied(layout: torch.layout, history: bool, dtype: torch.dtype) -> None:
    """And to nothing of what was there before: as for dense tensors."""
    def copied(sparse: bool) -> tuple[torch.Tensor, ...]:
        blocks = {"blocksize": (1, 2)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
        leaves = [torch.tensor([[a, 2.0, 0, 0], [0, 0, 3.0, a]], dtype=d) for a, d in ((1.0, dtype), (4.0, torch.float64))]
        old, new = [(t.to_sparse(layout=layout, **blocks) if sparse else t).requires_grad_(t is leaves[1] or history) for t in leaves]
        target = old * 2 if history else old.detach()
        with Tape() as tape:
            assert target.copy_(new * 3) is target
        assert len(tape) == 2 and type(target.grad_fn).__name__ == "CopyBackwards" and target._version == 1
        first, second = target.to_dense() if sparse else target, new.to_dense() if sparse else new
        (first * first * torch.arange(8.0).reshape(2, 4)).sum().backward()
        return (second.detach(), *[t.grad.to_dense() for t in (old, new) if t.grad is not None])

    found, expected = copied(True), copied(False)
    assert len(found) == len(expected) == 2 + history and all([a.dtype is b.dtype and torch.equal(a, b) for a, b in zip(found, expected)])


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_layouts_lead_to_each_other(layout: torch.layout, batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    dense = torch.from_numpy(rng.standard_normal((4, 6)) * (rng.random((4, 6)) < 0.4))
    dense = torch.stack([dense, dense.flip(0).flip(1)]) if batch else dense
    blocks = {"blocksize": (2, 3)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
    if batch and blocks:
        dense = torch.stack([dense[0], dense[0] * 2])
    x = dense.to_sparse(layout=layout, **blocks)
    assert x.layout is layout
    assert torch.equal(x.to_dense(), dense)
    assert torch.equal(x.to_sparse().to_dense(), dense)
    assert torch.equal(x.transpose(-2, -1).to_dense(), dense.transpose(-2, -1))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.complex128, torch.int64])
def test_products_are_those_of_dense_tensors(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(2)
    x, y = (random_sparse(rng, (5, 6), 14).to(dtype), random_sparse(rng, (6, 3), 9).to(dtype))
    d = torch.from_numpy(rng.standard_normal((6, 4))).to(dtype)
    for left in (x, x.coalesce(), x.to_sparse_csr(), x.to_sparse_csc()):
        np.testing.assert_allclose(
            (left @ d).numpy(), (x.to_dense() @ d).numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((x @ y).to_dense().numpy(), (x.to_dense() @ y.to_dense()).numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((d.t() @ y).numpy() if dtype is not torch.int64 else 0, (d.t() @ y.to_dense()).numpy()
                               if dtype is not torch.int64 else 0, rtol=1e-5, atol=1e-6)


def test_messages_over_edges_of_a_graph() -> None:
    """A graph network's layer, by a sparse matrix and by gathering and scattering: values and gradients of both are alike."""
    rng = np.random.default_rng(3)
    n, edges = 20, 70
    ends = torch.from_numpy(rng.integers(0, n, (2, edges)))
    features = torch.from_numpy(rng.standard_normal((n, 4))).requires_grad_()
    weight = torch.from_numpy(rng.standard_normal(edges)).requires_grad_()
    w = torch.from_numpy(rng.standard_normal((4, 3))).requires_grad_()

    def by_matrix() -> torch.Tensor:
        adjacency = torch.sparse_coo_tensor(ends, weight, (n, n))
        degree = torch.sparse.sum(adjacency.detach().abs(), 1).to_dense() + 1
        return torch.sparse.mm(adjacency, features @ w) / degree[:, None]

    def by_edges() -> torch.Tensor:
        degree = torch.zeros(n, dtype=torch.float64).index_add(0, ends[0], torch.zeros(edges, dtype=torch.float64))
        dense = torch.zeros(n, n, dtype=torch.float64).index_put((ends[0], ends[1]), weight.detach(), accumulate=True)
        degree = degree + dense.abs().sum(1) + 1
        messages = (features @ w)[ends[1]] * weight[:, None]
        return torch.zeros(n, 3, dtype=torch.float64).index_add(0, ends[0], messages) / degree[:, None]

    outcomes = []
    for layer in (by_matrix, by_edges):
        h = layer()
        outcomes.append([h.detach(), *torch.autograd.grad(h.tanh().sum(), (features, weight, w))])
    for a, b in zip(*outcomes):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


def test_second_derivatives() -> None:
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]], dtype=torch.float64).to_sparse().coalesce()
    values = x.values().requires_grad_()
    d = torch.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=torch.float64, requires_grad=True)

    def loss(values: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        return (torch.sparse.mm(torch.sparse_coo_tensor(x.indices(), values, (2, 2)), d) ** 3).sum()

    assert torch.autograd.gradcheck(loss, (values, d))
    assert torch.autograd.gradgradcheck(loss, (values, d))


def test_gradients_of_both_kinds_meet_in_any_order() -> None:
    class Given(torch.autograd.Function):
        @staticmethod
        def forward(ctx: torch.autograd.function.FunctionCtx, x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(g)
            return x.view_as(x)

        @staticmethod
        def backward(ctx: torch.autograd.function.FunctionCtx, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
            return ctx.saved_tensors[0], None

    g = torch.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (3, 2))
    d = torch.ones(3, 2)
    for gradients in itertools.permutations((g, d, g)):
        x = torch.zeros(3, 2, requires_grad=True)
        sum([Given.apply(x, each) for each in gradients]).sum().backward()
        assert not x.grad.is_sparse and torch.equal(x.grad, d + g + g)
    x = torch.zeros(3, 2, requires_grad=True)
    (Given.apply(x, g) + Given.apply(x, g)).sum().backward()
    assert x.grad.is_sparse and torch.equal(x.grad.to_dense(), (g + g).to_dense())
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        x.data = g


def test_changes_of_what_was_saved_are_noticed() -> None:
    x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    d = torch.ones(2, 2, dtype=torch.float64)
    y = torch.sparse.mm(x, d)
    d.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_second_pass_through_a_freed_graph_is_refused() -> None:
    x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    loss = x.to_dense().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_tangents_are_refused_and_not_lost() -> None:
    import torchcompat.autograd.forward_ad as fwAD

    with fwAD.dual_level():
        v = fwAD.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(NotImplementedError, match="forward AD"):
            torch.sparse_coo_tensor([[0, 1]], v, (2,))


def test_one_interceptor_meets_all() -> None:
    torch.eye(2).to_sparse()
    assert sum(i is _door.SPARSE for i in LISTENING) == 1


def test_indices_outside_are_errors_and_touch_no_memory() -> None:
    """torch reads and writes beside the memory where nobody asked for checks."""
    x = torch.sparse_coo_tensor([[0, 5], [1, 9]], [1.0, 2.0], (2, 3))
    d = torch.ones(2, 3)
    for call in (x.to_dense, lambda: d + x, lambda: d.add_(x), lambda: x @ torch.ones(3, 2), lambda: x * d, lambda: d.sparse_mask(x),
                 lambda: torch.sparse.mm(x.t(), d)):
        with pytest.raises((IndexError, RuntimeError)):
            call()
    assert torch.equal(d, torch.ones(2, 3))


def test_a_row_of_a_large_table_is_updated_alone() -> None:
    """A step costs what its rows cost, not what the table does."""
    table = torch.zeros(50_000, 8)
    memory = table.data_ptr()
    table.add_(torch.sparse_coo_tensor([[3, 3, 49_999]], torch.ones(3, 8), (50_000, 8)), alpha=-0.5)
    assert table.data_ptr() == memory and table._version == 1
    assert table[3].tolist() == [-1.0] * 8 and table[49_999].tolist() == [-0.5] * 8 and table.sum() == -12
