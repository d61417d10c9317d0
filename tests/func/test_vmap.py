"""vmap: what it carries out at once, and what one by one."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

import pytest

import torchcompat as torch
from torchcompat.func import _batching

COMMON: dict[str, Callable[[Any], Any]] = {
    "pointwise": lambda x: torch.where(x > 0, x.exp() * 2 + x, -x).clamp(max=3.0).maximum(x),
    "reductions": lambda x: (x.sum(), x.mean(0), x.var(1), x.amax(), x.logsumexp(1), x.norm(), x.argmax(1), x.prod(), x.max(0).values),
    "views": lambda x: (x.T, x[0], x[1:, ::2], x.reshape(-1), x.unsqueeze(0).expand(3, 3, 4), x.flatten(), x.permute(1, 0), x.diagonal(),
                        x.chunk(2)),
    "products": lambda x: (x @ x.T, x.mv(x[0]), torch.nn.functional.linear(x, x), torch.einsum("ij,kj->ik", x, x), torch.outer(x[0], x[1])),
    "joins": lambda x: (torch.cat([x, x]), torch.stack([x, x], 1)),
    "softmax": lambda x: (x.softmax(1), x.log_softmax(0), torch.nn.functional.gelu(x), torch.nn.functional.layer_norm(x, (4,))),
    "losses": lambda x: (torch.nn.functional.cross_entropy(x, torch.tensor([0, 1, 2])), torch.nn.functional.mse_loss(x, x * 2)),
    "images": lambda x: (torch.nn.functional.conv2d(x.view(1, 1, 3, 4), torch.ones(2, 1, 2, 2, dtype=x.dtype)),
                         torch.nn.functional.max_pool2d(x.view(1, 1, 3, 4), 2), torch.nn.functional.avg_pool2d(x.view(1, 1, 3, 4), 2)),
    "order": lambda x: (x.sort(1), x.topk(2, 1), x.cumsum(0), x.flip(0), x.roll(1, 1)),
    "matrices": lambda x: (torch.linalg.inv(x @ x.T + torch.eye(3, dtype=x.dtype)), torch.linalg.det(x @ x.T), torch.tril(x)),
    "indexing": lambda x: (x[torch.tensor([0, 2])], x.gather(1, torch.zeros(3, 2, dtype=torch.long)),
                           x.index_select(1, torch.tensor([1, 0]))),
    "gradients": lambda x: torch.func.grad(lambda y: ((y @ y.T).softmax(0) * y[:, :3]).sum())(x),
    "curvature": lambda x: torch.func.jvp(torch.func.grad(lambda y: (y.tanh() @ y.T).sum()), (x,), (x,)),
}


@pytest.mark.parametrize("name", list(COMMON))
def test_common_operations_take_whole_batches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(level: Any, function: Any, args: Any, op: str) -> Any:
        raise AssertionError(f"{op} is carried out example by example")

    monkeypatch.setattr(_batching, "loop", refuse)
    x = torch.arange(24, dtype=torch.float64).sin().reshape(2, 3, 4)
    whole = torch.utils._pytree.tree_leaves(torch.vmap(COMMON[name])(x))
    monkeypatch.undo()
    for i in range(2):
        for w, e in zip(whole, torch.utils._pytree.tree_leaves(COMMON[name](x[i]))):
            torch_equal(w[i], e)


def torch_equal(a: Any, b: Any) -> None:
    assert a.shape == b.shape and a.dtype is b.dtype
    assert torch.allclose(a, b, atol=1e-12) if a.dtype.is_floating_point else torch.equal(a, b)


def test_in_place_operations_change_the_argument() -> None:
    x = torch.zeros(3, 2)
    torch.vmap(lambda a: a[0].add_(1), in_dims=1)(x)
    assert x.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_an_example_is_shown_with_its_batch() -> None:
    seen = []
    torch.vmap(lambda a: seen.append((repr(a), a.shape, a.stride(), a.dtype, a.requires_grad)) or a, in_dims=1)(torch.zeros(2, 3))
    text = "BatchedTensor(lvl=1, bdim=1, value=\n    tensor([[0., 0., 0.],\n            [0., 0., 0.]])\n)"
    assert seen == [(text, torch.Size([2]), (3,), torch.float32, False)]


def test_an_example_is_of_no_use_after_the_call() -> None:
    kept = []
    torch.vmap(lambda a: kept.append(a) or a)(torch.ones(2))
    with pytest.raises(RuntimeError, match="used after the function returned"):
        torch.vmap(lambda a: a + kept[0])(torch.ones(2))


def test_gradients_of_shared_parameters_are_summed() -> None:
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    torch.vmap(lambda a: (a * w).sum())(torch.ones(4, 2)).sum().backward()
    assert w.grad.tolist() == [4.0, 4.0]


def test_the_quiet_path_is_back_afterwards() -> None:
    from autograd_tape import modes

    before = modes.loudness()
    with pytest.raises(ZeroDivisionError):
        torch.vmap(lambda a: 1 / 0)(torch.ones(2))
    with pytest.raises(ZeroDivisionError):
        torch.func.jvp(lambda a: 1 / 0, (torch.ones(2),), (torch.ones(2),))
    assert modes.loudness() == before


def test_convolutions_and_norms_with_weights_of_their_own() -> None:
    def network(x: Any, w: Any, g: Any) -> Any:
        y = torch.nn.functional.conv2d(x, w, padding=1)
        y = torch.nn.functional.batch_norm(y, None, None, g, g, training=True)
        return torch.nn.functional.group_norm(y, 2).relu().sum(0).pow(2).sum()

    x = torch.arange(2 * 3 * 2 * 4 * 4, dtype=torch.float64).cos().reshape(2, 3, 2, 4, 4)
    w = torch.arange(2 * 4 * 2 * 3 * 3, dtype=torch.float64).sin().reshape(2, 4, 2, 3, 3)
    g = torch.arange(8, dtype=torch.float64).exp().log1p().reshape(2, 4)
    for dims in ((0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0)):
        args = [a if d == 0 else a[0] for a, d in zip((x, w, g), dims)]
        found = torch.vmap(torch.func.grad(network, argnums=(0, 1, 2)), dims)(*args)
        for i in range(2):
            single = torch.func.grad(network, argnums=(0, 1, 2))(*[a[i] if d == 0 else a for a, d in zip(args, dims)])
            for f, s in zip(found, single):
                assert torch.allclose(f[i], s, atol=1e-9)


def test_tensors_made_like_an_example_are_one_for_each() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for make in (torch.zeros_like, lambda a: a.new_zeros(3), lambda a: torch.full_like(a, 0.0), lambda a: torch.empty_like(a).zero_()):
        assert torch.equal(torch.vmap(lambda a, make=make: make(a).add_(a))(x), x)
    assert torch.equal(torch.vmap(torch.vmap(lambda a: torch.zeros_like(a).add_(a)))(x), x)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name, arguments", [("t_", ()), ("transpose_", (0, 1)), ("swapaxes_", (0, 1)), ("squeeze_", ()),
                                             ("unsqueeze_", (1,)), ("squeeze_", (0,))])
def test_reshaped_in_place(name: str, arguments: tuple[int, ...], dim: int) -> None:
    """An example takes the shape of a view of itself, called as a method, as a function of the class, and under functionalize."""
    x = torch.arange(18.0).reshape(3, 3, 2) if dim != 1 else torch.arange(18.0).reshape(3, 2, 3)
    plain = name.removesuffix("_")
    expected = torch.func.vmap(lambda t: getattr(t, plain)(*arguments), in_dims=dim)(x)
    for call in (lambda t: getattr(t, name)(*arguments), lambda t: getattr(torch.Tensor, name)(t, *arguments)):
        assert torch.equal(torch.func.vmap(call, in_dims=dim)(x.clone()), expected)
        assert torch.equal(torch.func.vmap(lambda t, call=call: torch.func.functionalize(call)(t.clone()), in_dims=dim)(x), expected)
