"""Shapes, views, reductions, order and indexing against torch: results recorded from it, and where it is installed, random
programs beside it. (Gradients, dtypes, `out=`, in-place variants and errors of every record: `test_table.py`.)"""

from __future__ import annotations

import random
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import torchcompat as torch

# (expression, shape, stride, dtype, graph node, sum) as torch 2.13 gives them, for
#   x = arange(60.).reshape(3, 4, 5).requires_grad_(); y = x.permute(2, 0, 1); i = arange(6, dtype=int32).reshape(2, 3)
RECORDED: list[tuple[str, tuple[int, ...], tuple[int, ...] | None, str, str | None, float]] = [
    ('x[0]', (4, 5), (5, 1), 'float32', 'SelectBackward0', 190.0),
    ('x[1:]', (2, 4, 5), (20, 5, 1), 'float32', 'SliceBackward0', 1580.0),
    ('x[:]', (3, 4, 5), (20, 5, 1), 'float32', 'SliceBackward0', 1770.0),
    ('x[...]', (3, 4, 5), (20, 5, 1), 'float32', 'AliasBackward0', 1770.0),
    ('x[None]', (1, 3, 4, 5), (60, 20, 5, 1), 'float32', 'UnsqueezeBackward0', 1770.0),
    ('x[0,1]', (5,), (1,), 'float32', 'SelectBackward0', 35.0),
    ('x[0,1:]', (3, 5), (5, 1), 'float32', 'SliceBackward0', 180.0),
    ('x[:,0]', (3, 5), (20, 1), 'float32', 'SelectBackward0', 330.0),
    ('x[:,0,::2]', (3, 3), (20, 2), 'float32', 'SliceBackward0', 198.0),
    ('x[...,None,-1]', (3, 4, 1), (20, 5, 5), 'float32', 'SelectBackward0', 378.0),
    ('x[True]', (1, 3, 4, 5), (60, 20, 5, 1), 'float32', 'IndexBackward0', 1770.0),
    ('x[[0,1]]', (2, 4, 5), (20, 5, 1), 'float32', 'IndexBackward0', 780.0),
    ('x[torch.tensor(1)]', (4, 5), (5, 1), 'float32', 'SelectBackward0', 590.0),
    ('x[x>30]', (29,), (1,), 'float32', 'IndexBackward0', 1305.0),
    ('x[0,:,[1,2]]', (4, 2), (2, 1), 'float32', 'IndexBackward0', 72.0),
    ('x[[0,1],:,[0,1]]', (2, 4), (4, 1), 'float32', 'IndexBackward0', 144.0),
    ('y[:,[0,1]]', (5, 2, 4), (1, 5, 10), 'float32', 'IndexBackward0', 780.0),
    ('y[None,[0,1]]', (1, 2, 3, 4), (24, 12, 4, 1), 'float32', 'IndexBackward0', 672.0),
    ('x.split(2)[1]', (1, 4, 5), (20, 5, 1), 'float32', 'SplitBackward0', 990.0),
    ('x.split([1,2],0)[1]', (2, 4, 5), (20, 5, 1), 'float32', 'SplitWithSizesBackward0', 1580.0),
    ('x.chunk(2,-1)[1]', (3, 4, 2), (20, 5, 1), 'float32', 'SplitBackward0', 744.0),
    ('x.unbind(1)[2]', (3, 5), (20, 1), 'float32', 'UnbindBackward0', 480.0),
    ('x.tensor_split(2,1)[1]', (3, 2, 5), (20, 5, 1), 'float32', 'SliceBackward0', 1035.0),
    ('x.view(12,-1)', (12, 5), (5, 1), 'float32', 'ViewBackward0', 1770.0),
    ('x.reshape(-1)', (60,), (1,), 'float32', 'ViewBackward0', 1770.0),
    ('y.reshape(-1)', (60,), (1,), 'float32', 'UnsafeViewBackward0', 1770.0),
    ('y.reshape(5,12)', (5, 12), (1, 5), 'float32', 'ReshapeAliasBackward0', 1770.0),
    ('y.view(5,3,2,2)', (5, 3, 2, 2), (1, 20, 10, 5), 'float32', 'ViewBackward0', 1770.0),
    ('x.unsqueeze(1)', (3, 1, 4, 5), (20, 20, 5, 1), 'float32', 'UnsqueezeBackward0', 1770.0),
    ('y.unsqueeze(-1)', (5, 3, 4, 1), (1, 20, 5, 1), 'float32', 'UnsqueezeBackward0', 1770.0),
    ('y.unsqueeze(0)', (1, 5, 3, 4), (5, 1, 20, 5), 'float32', 'UnsqueezeBackward0', 1770.0),
    ('x[:1].squeeze()', (4, 5), (5, 1), 'float32', 'SqueezeBackward0', 190.0),
    ('x[:1].squeeze(0)', (4, 5), (5, 1), 'float32', 'SqueezeBackward1', 190.0),
    ('x[:1].squeeze((0,1))', (4, 5), (5, 1), 'float32', 'SqueezeBackward2', 190.0),
    ('x.expand(2,3,4,5)', (2, 3, 4, 5), (0, 20, 5, 1), 'float32', 'ExpandBackward0', 3540.0),
    ('x[0,0].expand(2,5)', (2, 5), (0, 1), 'float32', 'ExpandBackward0', 20.0),
    ('x.transpose(0,-1)', (5, 4, 3), (1, 5, 20), 'float32', 'TransposeBackward0', 1770.0),
    ('x[0].t()', (5, 4), (1, 5), 'float32', 'TBackward0', 190.0),
    ('x.permute(1,2,0)', (4, 5, 3), (5, 1, 20), 'float32', 'PermuteBackward0', 1770.0),
    ('x.movedim(0,-1)', (4, 5, 3), (5, 1, 20), 'float32', 'PermuteBackward0', 1770.0),
    ('x.select(1,-1)', (3, 5), (20, 1), 'float32', 'SelectBackward0', 555.0),
    ('x.narrow(1,1,2)', (3, 2, 5), (20, 5, 1), 'float32', 'SliceBackward0', 885.0),
    ('x.diagonal()', (5, 3), (1, 25), 'float32', 'DiagonalBackward0', 405.0),
    ('x.diagonal(1,0,2)', (4, 3), (5, 21), 'float32', 'DiagonalBackward0', 354.0),
    ('x.unfold(2,3,2)', (3, 4, 2, 3), (20, 5, 2, 1), 'float32', 'UnfoldBackward0', 2124.0),
    ('x.as_strided((2,2),(1,7),3)', (2, 2), (1, 7), 'float32', 'AsStridedBackward0', 28.0),
    ('x.flatten(1)', (3, 20), (20, 1), 'float32', 'ViewBackward0', 1770.0),
    ('x.unflatten(1,(2,2))', (3, 2, 2, 5), (20, 10, 5, 1), 'float32', 'ViewBackward0', 1770.0),
    ('x.view_as(x)', (3, 4, 5), (20, 5, 1), 'float32', 'ViewBackward0', 1770.0),
    ('y.clone()', (5, 3, 4), (1, 20, 5), 'float32', 'CloneBackward0', 1770.0),
    ('y.contiguous()', (5, 3, 4), (12, 4, 1), 'float32', 'CloneBackward0', 1770.0),
    ('x.expand(2,3,4,5).clone()', (2, 3, 4, 5), (60, 20, 5, 1), 'float32', 'CloneBackward0', 3540.0),
    ('x[:,::2].clone()', (3, 2, 5), (10, 5, 1), 'float32', 'CloneBackward0', 810.0),
    ('torch.cat([y,y],1)', (5, 6, 4), (24, 4, 1), 'float32', 'CatBackward0', 3540.0),
    ('torch.stack([y,y],-1)', (5, 3, 4, 2), (24, 8, 2, 1), 'float32', 'StackBackward0', 3540.0),
    ('torch.hstack([x,x])', (3, 8, 5), (40, 5, 1), 'float32', 'CatBackward0', 3540.0),
    ('y.flip(0)', (5, 3, 4), (1, 20, 5), 'float32', 'FlipBackward0', 1770.0),
    ('y.roll(1,0)', (5, 3, 4), (12, 4, 1), 'float32', 'RollBackward0', 1770.0),
    ('y.rot90()', (3, 5, 4), (20, 1, 5), 'float32', 'Rot90Backward0', 1770.0),
    ('y.tril()', (5, 3, 4), (12, 4, 1), 'float32', 'TrilBackward0', 960.0),
    ('y.repeat(1,2,1)', (5, 6, 4), (24, 4, 1), 'float32', 'RepeatBackward0', 3540.0),
    ('x.repeat_interleave(2,1)', (3, 8, 5), (40, 5, 1), 'float32', 'ViewBackward0', 3540.0),
    ('y.sum(0)', (3, 4), (4, 1), 'float32', 'SumBackward1', 1770.0),
    ('y.mean((0,2),True)', (1, 3, 1), (3, 1, 1), 'float32', 'MeanBackward1', 88.5),
    ('y.amax(1)', (5, 4), (4, 1), 'float32', 'AmaxBackward0', 990.0),
    ('y.max(0)[0]', (3, 4), (4, 1), 'float32', 'MaxBackward0', 378.0),
    ('y.argmax(0)', (3, 4), (4, 1), 'int64', None, 48.0),
    ('y.cumsum(0)', (5, 3, 4), (12, 4, 1), 'float32', 'CumsumBackward0', 5190.0),
    ('y.cummax(1)[0]', (5, 3, 4), (12, 4, 1), 'float32', 'CummaxBackward0', 1770.0),
    ('y.sort(0)[0]', (5, 3, 4), (1, 20, 5), 'float32', 'SortBackward0', 1770.0),
    ('y.topk(2,0)[0]', (2, 3, 4), (12, 4, 1), 'float32', 'TopkBackward0', 744.0),
    ('y.var(0)', (3, 4), (4, 1), 'float32', 'VarBackward0', 30.0),
    ('y.std()', (), (), 'float32', 'StdBackward0', 17.4642),
    ('y.prod(1)', (5, 4), (4, 1), 'float32', 'ProdBackward1', 336300.0),
    ('y.logsumexp(0)', (3, 4), (4, 1), 'float32', 'LogsumexpBackward0', 383.423),
    ('y.gather(0,torch.zeros(1,1,1,dtype=torch.long))', (1, 1, 1), (1, 1, 1), 'float32', 'GatherBackward0', 0.0),
    ('y.index_select(0,torch.tensor([0,0]))', (2, 3, 4), (12, 4, 1), 'float32', 'IndexSelectBackward0', 660.0),
    ('y.masked_select(y>5)', (54,), (1,), 'float32', 'MaskedSelectBackward0', 1755.0),
    ('torch.nn.functional.pad(y,(1,1))', (5, 3, 6), (18, 6, 1), 'float32', 'ConstantPadNdBackward0', 1770.0),
    ("torch.nn.functional.pad(x,(1,2),mode='reflect')", (3, 4, 8), (32, 8, 1), 'float32', 'ReflectionPad1DBackward0', 2832.0),
    ('x.diag_embed()', (3, 4, 5, 5), (100, 25, 5, 1), 'float32', 'DiagEmbedBackward0', 1770.0),
    ('torch.diag(x[0])', (4,), (1,), 'float32', 'DiagonalBackward0_copy', 36.0),
    ('torch.diag(x[0,0])', (5, 5), (5, 1), 'float32', 'DiagEmbedBackward0', 10.0),
    ('torch.zeros_like(y)', (5, 3, 4), (1, 20, 5), 'float32', None, 0.0),
    ('y.new_zeros(2,3)', (2, 3), (3, 1), 'float32', None, 0.0),
    ('(x>30).nonzero()', (29, 3), (1, 29), 'int64', None, 162.0),
    ('x.median()', (), (), 'float32', 'MedianBackward0', 29.0),
    ('x.median(1)[0]', (3, 5), (5, 1), 'float32', 'MedianBackward1', 405.0),
    ('x.kthvalue(2)[0]', (3, 4), (4, 1), 'float32', 'KthvalueBackward0', 342.0),
    ('x.mode()[0]', (3, 4), (4, 1), 'float32', 'ModeBackward0', 330.0),
    ('torch.aminmax(x)[0]', (), (), 'float32', 'AminmaxBackward0', 0.0),
    ('i.sum()', (), (), 'int64', None, 15.0),
    ('i.bool().sum(0)', (3,), (1,), 'int64', None, 5.0),
    ('i.prod(1)', (2,), (1,), 'int64', None, 60.0),
    ('i.max()', (), (), 'int32', None, 5.0),
    ('i.max(0)[1]', (3,), (1,), 'int64', None, 3.0),
    ('i.cumsum(0)', (2, 3), (3, 1), 'int64', None, 18.0),
    ('i.bool().cumprod(1)', (2, 3), (3, 1), 'int64', None, 3.0),
    ('i.all()', (), (), 'bool', None, 0.0),
    ('i.to(torch.uint8).any(0)', (3,), (1,), 'uint8', None, 3.0),
    ('i.argmin()', (), (), 'int64', None, 0.0),
    ('i.float().mean()', (), (), 'float32', None, 2.5),
    ('i.logsumexp(0)', (3,), (1,), 'float32', None, 12.1458),
    ('i.half().sum()', (), (), 'float16', None, 15.0),
    ('i.half().cumsum(0)', (2, 3), (3, 1), 'float16', None, 18.0),
    ('i.to(torch.bfloat16).sum(1)', (2,), (1,), 'bfloat16', None, 15.0),
    ('i.sum(dtype=torch.float64)', (), (), 'float64', None, 15.0),
    ('i.sum(dtype=torch.int16)', (), (), 'int16', None, 15.0),
    ('i.float().sum(dtype=torch.float16)', (), (), 'float16', None, 15.0),
    ('i.unique()', (6,), (1,), 'int32', None, 15.0),
    ('torch.cat([i,i.float()])', (4, 3), (3, 1), 'float32', None, 30.0),
    ('torch.stack([i,i.long()])', (2, 2, 3), (6, 3, 1), 'int64', None, 30.0),
    ('torch.arange(3)', (3,), (1,), 'int64', None, 3.0),
    ('torch.arange(3.)', (3,), (1,), 'float32', None, 3.0),
    ('torch.arange(0,1,0.25)', (4,), (1,), 'float32', None, 1.5),
    ('torch.linspace(0,1,4)', (4,), (1,), 'float32', None, 2.0),
    ('torch.full((2,),3)', (2,), (1,), 'int64', None, 6.0),
    ('torch.full((2,),True)', (2,), (1,), 'bool', None, 2.0),
    ('torch.eye(2,3)', (2, 3), (3, 1), 'float32', None, 2.0),
    ('torch.tril_indices(3,3)', (2, 6), (6, 1), 'int64', None, 12.0),
]
# torch numbers the overloads of an operation (SumBackward1: sum along dimensions) and gives a few compositions nodes of their own.
OTHER_NODES = {"y.reshape(5,12)": "ViewBackward0", "y.rot90()": "TransposeBackward0", "torch.diag(x[0])": "CloneBackward0"}


@pytest.mark.parametrize("row", RECORDED, ids=[row[0] for row in RECORDED])
def test_recorded(row: tuple[Any, ...]) -> None:
    expression, shape, stride, dtype, node, total = row
    x = torch.arange(60.0).reshape(3, 4, 5).requires_grad_()
    names = {"torch": torch, "x": x, "y": x.permute(2, 0, 1), "i": torch.arange(6, dtype=torch.int32).reshape(2, 3)}
    result = eval(expression, names)
    assert (tuple(result.shape), result.dtype.name) == (shape, dtype)
    if stride is not None:
        assert tuple(result.stride()) == stride
    found = None if result.grad_fn is None else type(result.grad_fn).__name__
    if expression in OTHER_NODES:
        assert found == OTHER_NODES[expression]
    else:
        assert (found or "").rstrip("0123456789") == (node or "").rstrip("0123456789")
    assert float(result.double().sum()) == pytest.approx(total, rel=1e-6, abs=1e-4)


# -- views ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["x[0]", "x[1:, 0]", "x[..., None]", "x.view(12)", "x.t()", "x.unsqueeze(1)", "x.diagonal()",
                                  "x.unfold(1, 2, 1)", "x.as_strided((2, 2), (1, 4))", "x.split(2)[1]", "x.unbind(1)[2]", "x.chunk(2)[0]",
                                  "x.expand(2, 3, 4)", "x.t().reshape(4, 3, 1)"])
def test_views_share_memory_and_version(view: str) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    v = eval(view, {"x": x})
    assert np.shares_memory(v._data, x._data)
    x.add_(1)
    assert v._version == x._version == 1
    assert float(v.min()) >= 1


def test_second_derivative_of_overlapping_as_strided() -> None:
    x = torch.arange(4.0, dtype=torch.float64).requires_grad_()
    y = x.as_strided((3, 2), (1, 1))
    (g,) = torch.autograd.grad((y ** 3).sum(), x, create_graph=True)
    assert g.tolist() == [3 * n * v * v for n, v in zip((1, 2, 2, 1), range(4))]
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [6 * n * v for n, v in zip((1, 2, 2, 1), range(4))]


def test_gradient_of_an_overlapping_input_is_shared_evenly() -> None:
    x = torch.ones(2, dtype=torch.float64).requires_grad_()
    y = x.expand(3, 2).as_strided((2,), (1,))
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_cast_has_the_gradient_of_its_input_dtype() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.double() * 3).sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [3.0, 3.0]


# -- writing ----------------------------------------------------------------------------------------------------------


def test_setitem_through_a_view_reaches_the_base() -> None:
    a = torch.ones(3, 4, dtype=torch.float64).requires_grad_()
    v = torch.full((4,), 2.0, dtype=torch.float64).requires_grad_()
    b = a * 1
    b.t()[:, 1] = v
    b[2, [0, 0, 3]] = 5
    (b * b).sum().backward()
    assert a.grad.tolist() == [[2.0] * 4, [0.0] * 4, [0.0, 2.0, 2.0, 0.0]]
    assert v.grad.tolist() == [4.0] * 4
    assert type(b.grad_fn).__name__ == "CopySlices"


def test_setitem_on_a_leaf_that_requires_grad_is_refused() -> None:
    x = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[0] = 1
    with torch.no_grad():
        x[0] = 1
    assert x.tolist() == [1.0, 0.0, 0.0]


def test_setitem_dtypes() -> None:
    x = torch.zeros(3, dtype=torch.int64)
    x[0] = 1.7
    x[1] = torch.tensor(2.7)
    assert x.tolist() == [1, 2, 0]
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match, got Long for the destination"):
        x[[0, 1]] = torch.tensor(1.5)
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
        torch.zeros(3, dtype=torch.uint8)[0] = 300
    half = torch.zeros(3, dtype=torch.bfloat16)
    half[1:] = 1.5
    assert half.tolist() == [0.0, 1.5, 1.5]


def test_writing_to_expanded_memory_is_refused() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        torch.zeros(3).expand(2, 3)[:] = 1


def test_index_changed_in_place_is_noticed() -> None:
    x, i = torch.ones(3, requires_grad=True), torch.tensor([0, 2])
    y = (x[i] * 2).sum()
    i[0] = 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_repeated_positions_accumulate() -> None:
    x = torch.zeros(5, 3, dtype=torch.float64, requires_grad=True)
    i = torch.tensor([4, 0, 4, -1])
    (x[i] * torch.arange(4.0, dtype=torch.float64).unsqueeze(1)).sum().backward()
    assert x.grad[:, 0].tolist() == [1.0, 0.0, 0.0, 0.0, 5.0]


# -- random indices beside torch ----------------------------------------------------------------------------------------


def _item(rng: random.Random, size: int) -> Any:
    kind = rng.randrange(12)
    if kind < 3:
        return rng.randint(-size - (kind == 0), size - (kind > 0))
    if kind < 6:
        ends = [rng.choice([None, rng.randint(-size - 1, size + 1)]) for _ in range(2)]
        return slice(*ends, rng.choice([None, 1, 2]))
    if kind < 8:
        return None if kind == 6 else ...
    if kind == 8:
        return ("tensor", [rng.randint(-size, size - 1) for _ in range(2)])
    if kind == 9:
        return [rng.randint(-size, size - 1) for _ in range(2)]
    if kind == 10:
        return ("tensor", [bool(rng.getrandbits(1)) for _ in range(size)])
    return rng.choice([True, False, ("tensor", 1), ("tensor", True), ("tensor", [[0, 1], [1, 0]])])


def _index(module: Any, items: list[Any]) -> Any:
    made = [module.tensor(item[1]) if isinstance(item, tuple) else item for item in items]
    return tuple(made) if len(made) > 1 else made[0]


def _attempt(function: Any) -> tuple[Any, tuple[type, str] | None]:
    try:
        return function(), None
    except Exception as error:
        return None, (type(error), str(error))


def _strides(t: Any) -> list[int]:
    return [s for s, n in zip(t.stride(), t.shape) if n > 1]


def _assign(module: Any, data: np.ndarray, order: list[int], items: list[Any], how: str, shape: tuple[int, ...]) -> Any:
    leaf = module.from_numpy(data.copy()).requires_grad_(how == "grad")
    base = leaf * 1
    view, value = base.permute(order), 7
    if how != "number":
        value = module.ones({"wrong": (5,), "lead": (1, 1, *shape)}.get(how, shape), dtype=module.float64)
        if how == "grad":
            value.requires_grad_()
    view[_index(module, items)] = value
    grads = module.autograd.grad((base * base * 2).sum(), [leaf, value], allow_unused=True) if how == "grad" else ()
    return base.detach().numpy(), base._version, type(view.grad_fn).__name__, [None if g is None else g.numpy() for g in grads]


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed; the recorded results above stand in for it")
@pytest.mark.parametrize("seed", range(4))
def test_random_indices_beside_torch(seed: int) -> None:
    """Values, strides, nodes, gradients and errors of reading and writing at random indices equal torch's."""
    import torch as real

    rng = random.Random(seed)
    for _ in range(150):
        shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
        order = list(range(len(shape)))
        if rng.random() < 0.3:
            rng.shuffle(order)
        data = np.arange(float(np.prod(shape))).reshape(shape)
        items: list[Any] = []
        for d in range(rng.randint(1, len(shape) + 1)):
            item = _item(rng, shape[order[d]] if d < len(shape) else 2)
            items.append(None if item is ... and any(i is ... for i in items) else item)
        leaves = [m.from_numpy(data.copy()).requires_grad_() for m in (torch, real)]
        (a, error), (b, expected) = [_attempt(lambda m=m, leaf=leaf: leaf.permute(order)[_index(m, items)])
                                     for m, leaf in zip((torch, real), leaves)]
        what = f"{shape} {order} {items}"
        assert error == expected, what
        if expected is not None:
            continue
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy(), err_msg=what)
        assert type(a.grad_fn).__name__ == type(b.grad_fn).__name__, what
        if b.numel():
            assert _strides(a) == _strides(b), what
            (a * a).sum().backward()
            (b * b).sum().backward()
            np.testing.assert_allclose(leaves[0].grad.numpy(), leaves[1].grad.numpy(), err_msg=what)
        for how in ("number", "full", "lead", "wrong", "grad"):
            (ours, error), (theirs, expected) = [_attempt(lambda m=m, how=how: _assign(m, data, order, items, how, tuple(b.shape)))
                                                 for m in (torch, real)]
            assert error == expected, f"{how} {what}"
            if expected is None:
                assert ours[1:3] == theirs[1:3], f"{how} {what}"
                for p, q in zip([ours[0], *ours[3]], [theirs[0], *theirs[3]]):
                    assert (p is None) == (q is None), f"{how} {what}"
                    if q is not None:
                        np.testing.assert_allclose(p, q, err_msg=f"{how} {what}")


@pytest.mark.parametrize("shape", [(2, 3), (6,), (1, 6, 1), (3, 1, 2)])
def test_unravelled_indices_lead_to_the_same_elements(shape: tuple[int, ...]) -> None:
    at = np.arange(6).reshape(2, 3)
    found = torch.unravel_index(torch.from_numpy(at), shape)
    for f, e in zip(found, np.unravel_index(at, shape), strict=True):
        np.testing.assert_array_equal(f.numpy(), e)
    assert torch.broadcast_shapes(shape, (1,), 1) == shape
    with pytest.raises(RuntimeError, match="Attempting to broadcast a dimension of length 7 at -1"):
        torch.broadcast_shapes((6,), (7,))
    with pytest.raises(TypeError, match="expected 'indices' to be integer dtype, but got torch.float32"):
        torch.unravel_index(torch.ones(1), shape)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("columns", [False, True])
def test_writing_at_several_index_tensors_of_plain_tensors_is_what_masks_say(dtype: torch.dtype, columns: bool) -> None:
    """Keys of index tensors, masks and ranges are handed to NumPy at once; with numbers or an ellipsis among them they are not."""
    i, j = torch.tensor([0, -1, 2]), torch.tensor([1, 1, 3])
    mask, number = torch.tensor([True, False, True]), 1
    for key, places in (
        ((i, j), [(0, 1), (2, 1), (2, 3)]), ((i[:, None], j[:2]), [(0, 1), (2, 1)]),
        ((slice(None), j), [(k, m) for k in range(3) for m in (1, 3)]),
        ((slice(1, None), j), [(k, m) for k in (1, 2) for m in (1, 3)]), ((mask, j[:2]), [(0, 1), (2, 1)]), ((2, j), [(2, 1), (2, 3)]),
        ((..., j), [(k, m) for k in range(3) for m in (1, 3)]), ((mask, slice(2, 4)), [(k, m) for k in (0, 2) for m in (2, 3)]),
    ):
        x = torch.zeros(4, 3, dtype=dtype).t() if columns else torch.zeros(3, 4, dtype=dtype)
        x[key] = number
        assert sorted(map(tuple, x.nonzero().tolist())) == sorted(places) and x._version == 1
        y = torch.zeros_like(x)
        y[key] = x[key]
        assert torch.equal(x, y) and y.dtype is dtype
    x = torch.zeros(3, 4, dtype=dtype)
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 1 with size 4"):
        x[i, j + 1] = number
    assert not x.any() and x._version == 0


def test_truth_values_added_at_places_are_their_disjunction() -> None:
    """Whatever adds them: repeated places, those from the end, and places beyond the last, which are refused whatever is added there."""
    x, at, v = torch.tensor([[True, False, False]]), torch.tensor([1, 1, -1, 0]), torch.tensor([True, False, False, False])
    expected = [[True, True, False]]
    assert x.put(at, v, accumulate=True).tolist() == expected
    assert x.index_put((torch.zeros(4, dtype=torch.int64), at), v, accumulate=True).tolist() == expected
    assert x.t().index_put((at,), v[:, None], accumulate=True).t().tolist() == expected
    assert x.index_add(1, at % 3, v[None]).tolist() == x.scatter_add(1, at[None] % 3, v[None]).tolist() == expected
    assert x.index_add(1, at % 3, v[None], alpha=False).tolist() == x.tolist()
    with pytest.raises(IndexError, match="out of range"):
        x.put(at + 2, ~v & v, accumulate=True)
    with pytest.raises(IndexError, match="out of bounds"):
        x.index_put((torch.zeros(4, dtype=torch.int64), at + 2), v & ~v, accumulate=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_several_index_tensors_are_taken_at_once_as_by_lists(dtype: torch.dtype) -> None:
    """The quick way for tensors, masks and whole ranges gives values, strides, nodes and gradients of the way of all keys."""
    i, j, mask = torch.tensor([[0, -1]]), torch.tensor([1, 3]), torch.tensor([True, False, True])
    whole = slice(None)
    for x in (torch.arange(60.0).reshape(3, 4, 5), torch.arange(60.0).reshape(5, 4, 3).permute(2, 1, 0)):
        for key in ((i, j), (whole, j), (whole, i, j), (i, whole, j), (mask, whole, j), (mask, j), (whole, whole, i), (i, whole)):
            quick, general = (x.to(dtype, copy=True).requires_grad_() for _ in range(2))
            a, b = quick[key], general[(*[t.tolist() if isinstance(t, torch.Tensor) else t for t in key],)]
            assert torch.equal(a, b) and a.stride() == b.stride() and a.dtype is dtype and type(a.grad_fn) is type(b.grad_fn)
            (a * a).sum().backward()
            (b * b).sum().backward()
            assert torch.equal(quick.grad, general.grad)
    changed = j.clone()
    y = torch.ones(3, 4, dtype=dtype, requires_grad=True)[:, changed]
    changed.add_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 2"):
        torch.ones(3, 4, dtype=dtype)[i, j, j]
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 4"):  # of those that are indexed, the first
        torch.ones(3, 4, dtype=dtype)[:, j + 2]


PLACES = {"select": (1, -1), "slice": (1, 0, 4, 2), "diagonal": (1,), "as_strided": ((2, 3), (5, 1), 1)}


@pytest.mark.parametrize("view", PLACES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("columns", [False, True])
def test_what_is_put_in_the_place_of_a_view_is_what_is_written_there(view: str, dtype: torch.dtype, columns: bool) -> None:
    columns = columns and view != "as_strided"
    x = torch.arange(20, dtype=torch.float64).reshape(4, 5).to(dtype)
    x = x.t().contiguous().t() if columns else x
    place, scattered = PLACES[view], getattr(torch, f"{view}_scatter")
    shown = lambda t: getattr(t, view)(*place) if view != "slice" else t[:, 0:4:2]
    source, weight = -torch.ones_like(shown(x)), torch.arange(1, 21, dtype=torch.float64).reshape(4, 5).to(dtype)

    def written(a: Any, b: Any) -> Any:
        whole = a.clone()
        shown(whole).copy_(b)
        return whole

    plain = scattered(x, source, *place)
    assert plain.equal(written(x, source)) and plain.stride() == x.stride() and plain.data_ptr() != x.data_ptr()
    if dtype.is_complex and view in ("select", "slice"):
        return  # which torch refuses to record
    inputs = [x.clone().requires_grad_(), source.requires_grad_()]
    made, expected = scattered(*inputs, *place), written(*inputs)
    assert made.equal(expected)
    for a, b in zip(torch.autograd.grad(made, inputs, weight), torch.autograd.grad(expected, inputs, weight)):
        assert a.equal(b) and a.shape == b.shape
    spread = torch.autograd.grad(scattered(*inputs, *place).real.sum(), inputs[0])[0]
    assert not shown(spread).any() and spread.abs().sum() == 20 - source.numel()
