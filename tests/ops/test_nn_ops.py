"""Operations of networks beyond what the table of records tests: random masks, running statistics, symmetric matrices, einsum;
and every sample on torch itself, where it is installed."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import autograd_tape as at
from autograd_tape import F, TensorRef
from autograd_tape.ops import RECORDS
from autograd_tape.random import default_generator
from tests.ops.op_cases import bind, central_differences, samples, tree_map

FAMILIES = {"products", "contractions", "factorization", "softmax", "likelihood", "loss", "norms", "normalization", "convolution",
            "pooling", "resampling", "sampling", "embedding", "dropout", "attention"}


@pytest.fixture(autouse=True)
def silent() -> Any:
    with np.errstate(all="ignore"):
        yield


def ref(x: Any, requires_grad: bool = True) -> TensorRef:
    return TensorRef.of(np.array(x), requires_grad=requires_grad)


# -- products ---------------------------------------------------------------------------------------------------------


def test_beta_zero_ignores_nan() -> None:
    nan = ref(np.full((2, 2), np.nan), False)
    eye = ref(np.eye(2), False)
    assert np.array_equal(F.addmm(nan, eye, eye, beta=0).numpy(), np.eye(2))
    assert np.isnan(F.addmm(nan, eye, eye).numpy()).all()


def test_alpha_scales_product_and_its_gradients() -> None:
    rng = np.random.default_rng(0)
    b, x, y = (ref(rng.standard_normal(s)) for s in ((2, 4), (2, 3), (3, 4)))
    out = F.addmm(b, x, y, beta=0.5, alpha=3.0)
    np.testing.assert_allclose(out.numpy(), 0.5 * b.numpy() + 3 * x.numpy() @ y.numpy())
    gb, gx, gy = at.grad(F.sum(out), [b, x, y])
    np.testing.assert_allclose(gb, np.full((2, 4), 0.5))
    np.testing.assert_allclose(gx, 3 * np.ones((2, 4)) @ y.numpy().T)
    np.testing.assert_allclose(gy, 3 * x.numpy().T @ np.ones((2, 4)))


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk", [(2, 3), (3, 4)]), ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]), ("ii", [(3, 3)]), ("iij->j", [(2, 2, 3)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("i,j->ij", [(2,), (3,)]), ("ij,j->i", [(2, 3), (3,)]), ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]), ("a...b->...", [(2, 3, 4)]), ("ij,jk,kl,lm->im", [(2, 3), (3, 4), (4, 2), (2, 5)]),
    ("abc,cd,b->ad", [(2, 3, 4), (4, 2), (3,)]), ("i...->...", [(2, 3)]), ("ij,kj->ik", [(2, 3), (4, 3)]),
    ("ijk,jil->kl", [(2, 3, 4), (3, 2, 5)]),
])
def test_einsum_agrees_with_numpy(equation: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(s) for s in shapes]
    np.testing.assert_allclose(F.einsum(equation, *map(ref, arrays)).numpy(), np.einsum(equation, *arrays), atol=1e-12)


def test_einsum_takes_lists_of_subscripts() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(F.einsum(ref(a), [0, 1], ref(b), [1, 2], [2, 0]).numpy(), (a @ b).T)
    np.testing.assert_allclose(F.einsum(ref(a), [0, ...], [..., 0]).numpy(), a.T)


@pytest.mark.parametrize("name", ["linalg_cholesky", "linalg_eigh", "linalg_eigvalsh", "cholesky"])
def test_gradient_over_symmetric_matrices(name: str) -> None:
    """These read one triangle and take the matrix for symmetric, so the derivative is that along symmetric matrices."""
    a = np.random.default_rng(2).standard_normal((3, 3)) + np.diag([1.0, 2.0, 4.0])
    weights = np.random.default_rng(3).uniform(0.5, 1.5, (3, 3))

    def scalar(x: TensorRef) -> TensorRef:
        result = F.function(name)(F.matmul(x, F.transpose(x, 0, 1)))
        parts = [result] if isinstance(result, TensorRef) else list(result)
        total = None
        for p in parts:
            term = F.sum(F.abs(p) * ref(weights[0] if p.ndim == 1 else weights, False))  # signs of eigenvectors are arbitrary
            total = term if total is None else total + term
        return total

    x = ref(a)
    (found,) = at.grad(scalar(x), [x], create_graph=True)
    expected = central_differences(lambda v: float(scalar(ref(v[0], False)).numpy()), [a])[0]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-7)
    (second,) = at.grad(F.sum(found * ref(weights, False)), [x])

    def first(v: list[np.ndarray]) -> float:
        leaf = ref(v[0])
        return float(np.sum(weights * at.grad(scalar(leaf), [leaf])[0]))

    np.testing.assert_allclose(second, central_differences(first, [a])[0], rtol=1e-4, atol=1e-5)


def test_determinant_of_singular_matrix_has_gradient() -> None:
    a = ref([[1.0, 2.0], [2.0, 4.0]])
    (g,) = at.grad(F.det(a), [a])
    np.testing.assert_allclose(g, [[4.0, -2.0], [-2.0, 1.0]], atol=1e-12)


# -- random masks: recorded from torch 2.13, after manual_seed(3), of ones with p = 0.4 -----------------------------


RECORDED: list[tuple[str, tuple[int, ...], list[float]]] = [
    ("dropout", (3, 4), [1.6666666, 1.6666666, 0.0, 1.6666666, 0.0, 0.0, 1.6666666, 1.6666666, 1.6666666, 0.0, 1.6666666, 1.6666666]),
    ("dropout1d", (3, 2), [1.6666666, 1.6666666, 1.6666666, 1.6666666, 0.0, 0.0]),
    ("dropout2d", (2, 3, 1, 2), [1.6666666, 1.6666666, 1.6666666, 1.6666666, 0.0, 0.0, 1.6666666, 1.6666666, 0.0, 0.0, 0.0, 0.0]),
    ("dropout3d", (2, 2, 1, 1, 2), [1.6666666, 1.6666666, 1.6666666, 1.6666666, 0.0, 0.0, 1.6666666, 1.6666666]),
    ("alpha_dropout", (3, 4), [1.4703772, 1.4703772, -0.910642, 1.4703772, -0.910642, -0.910642, 1.4703772, 1.4703772, 1.4703772, -0.910642,
                               1.4703772, 1.4703772]),
    ("feature_alpha_dropout", (2, 3, 2), [1.4703772, 1.4703772, 1.4703772, 1.4703772, -0.910642, -0.910642, 1.4703772, 1.4703772, -0.910642,
                                          -0.910642, -0.910642, -0.910642]),
]


@pytest.mark.parametrize("name, shape, expected", RECORDED)
def test_dropout_draws_torchs_masks(name: str, shape: tuple[int, ...], expected: list[float]) -> None:
    default_generator.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = F.function(f"nn_functional_{name}")(ref(np.ones(shape, "f4"), False), 0.4, True)
    np.testing.assert_allclose(y.numpy().reshape(-1), expected, rtol=1e-6, atol=1e-7)


def test_dropout_gradient_uses_the_mask_drawn() -> None:
    x = ref(np.arange(1.0, 101.0))
    y = F.dropout(x, 0.5, True)
    (g,) = at.grad(F.sum(y), [x])
    np.testing.assert_array_equal(g, y.numpy() / x.numpy())
    assert set(np.unique(g)) == {0.0, 2.0}


def test_dropout_returns_its_input_where_nothing_is_dropped() -> None:
    x = ref(np.ones(3))
    assert F.nn_functional_dropout(x, 0.5, False) is x and F.nn_functional_dropout(x, 0.0) is x
    assert not F.nn_functional_dropout(x, 1.0).numpy().any()
    y = ref(np.ones(3), False)
    assert F.nn_functional_dropout(y, 0.5, True, True) is y and set(y.numpy()) <= {0.0, 2.0}


# -- state that moves in place ------------------------------------------------------------------------------------------


def test_batch_norm_moves_running_statistics() -> None:
    x = np.random.default_rng(4).standard_normal((4, 2, 3))
    mean, var = ref(np.zeros(2), False), ref(np.ones(2), False)
    F.nn_functional_batch_norm(ref(x), mean, var, training=True, momentum=0.2)
    np.testing.assert_allclose(mean.numpy(), 0.2 * x.mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.8 + 0.2 * x.var((0, 2), ddof=1))
    before = mean.numpy().copy()
    F.nn_functional_batch_norm(ref(x), mean, var)
    np.testing.assert_array_equal(mean.numpy(), before)


def test_instance_norm_moves_running_statistics() -> None:
    x = np.random.default_rng(4).standard_normal((4, 2, 3))
    mean, var = ref(np.zeros(2), False), ref(np.ones(2), False)
    F.nn_functional_instance_norm(ref(x), mean, var, momentum=0.5)
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.mean(2).mean(0))
    np.testing.assert_allclose(var.numpy(), 0.5 + 0.5 * x.var(2, ddof=1).mean(0))


def test_embedding_gives_padding_no_gradient() -> None:
    w = ref(np.arange(6.0).reshape(3, 2))
    (g,) = at.grad(F.sum(F.nn_functional_embedding(TensorRef.of(np.array([0, 2, 2])), w, -1)), [w])
    np.testing.assert_array_equal(g, [[1, 1], [0, 0], [0, 0]])


def test_embedding_renormalizes_rows_it_looks_up() -> None:
    w = ref([[3.0, 4.0], [30.0, 40.0], [0.3, 0.4]], False)
    F.nn_functional_embedding(TensorRef.of(np.array([0, 2])), w, None, 1.0)
    np.testing.assert_allclose(w.numpy(), [[0.6, 0.8], [30, 40], [0.3, 0.4]], atol=1e-6)


# -- losses and windows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 6), (300, 40)])  # the few calls for small logits, and the fused kernel
def test_cross_entropy_is_the_mean_of_negative_log_softmax(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    x, t = rng.standard_normal(shape), rng.integers(0, shape[1], shape[0])
    logits = ref(x)
    loss = F.cross_entropy(logits, TensorRef.of(t))
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    rows = np.arange(shape[0])
    np.testing.assert_allclose(loss.numpy(), -np.log(p[rows, t]).mean())
    expected = p.copy()
    expected[rows, t] -= 1
    np.testing.assert_allclose(at.grad(loss, [logits])[0], expected / shape[0], atol=1e-12)


def test_nothing_but_ignored_targets_is_nan() -> None:
    loss = F.cross_entropy(ref(np.zeros((2, 3))), TensorRef.of(np.array([-100, -100])))
    assert np.isnan(loss.numpy())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiles_agree_with_windows(n: int) -> None:
    """Pooling without overlap takes another path than with; an unused padding in ceil mode forces the general one."""
    x = np.random.default_rng(6).permutation(7**n * 2).reshape(1, 2, *(7,) * n).astype(float)
    quick = F.max_pool_nd(ref(x), (2,) * n, (2,) * n, (0,) * n, (1,) * n, False)
    slow = F.max_pool_nd(ref(x), (2,) * n, (2,) * n, (0,) * n, (1,) * n, True)
    crop = (..., *(slice(0, 3),) * n)
    np.testing.assert_array_equal(quick[0].numpy(), slow[0].numpy()[crop])
    np.testing.assert_array_equal(quick[1].numpy(), slow[1].numpy()[crop])


def test_pooling_keeps_nan() -> None:
    x = np.array([[[1.0, np.nan, 2.0, 3.0]]])
    values, indices = F.max_pool_nd(ref(x), (2,), (2,), (0,), (1,), False)
    assert np.isnan(values.numpy()[0, 0, 0]) and values.numpy()[0, 0, 1] == 3 and indices.numpy().tolist() == [[[1, 3]]]


def test_attention_of_a_query_without_keys_is_zero() -> None:
    rng = np.random.default_rng(7)
    q, k, v = (ref(rng.standard_normal((1, 2, 3))) for _ in range(3))
    mask = TensorRef.of(np.array([[True, True], [False, False]]))
    y = F.scaled_dot_product_attention(q, k, v, mask)
    assert not y.numpy()[0, 1].any() and y.numpy()[0, 0].any()
    g = at.grad(F.sum(y * y), [q], create_graph=True)[0]
    assert np.isfinite(g.numpy()).all() and not g.numpy()[0, 1].any()


def test_interpolation_does_not_spread_infinity() -> None:
    x = np.zeros((1, 1, 6))
    x[0, 0, 0] = np.inf
    y = F.interpolate(ref(x), size=12, mode="linear").numpy()
    assert np.isfinite(y[0, 0, 4:]).all()


# -- torch itself, where it is installed ----------------------------------------------------------------------------------


def _torch_functions(rec: Any) -> list[Any]:
    import torch

    names = [] if rec.namespace == "_internal" else [".".join(filter(None, (rec.namespace, rec.name)))]
    found = []
    for name in (*names, *rec.alias):
        value: Any = torch
        for part in name.split("."):
            value = getattr(value, part)
        found.append(value)
    return found


def _gradients(tensors: list[Any], outputs: list[Any], weigh: Any, add: Any, differentiate: Any) -> list[Any]:
    total = None
    for o in outputs:
        if o.requires_grad:
            term = weigh(o)
            total = term if total is None else add(total, term)
    return [] if total is None or not tensors else differentiate(total, tensors)


LIVE = [n for n, r in RECORDS.items() if r.module.rpartition(".")[2] in FAMILIES and (r.namespace != "_internal" or r.alias)]
# torch refuses float64 constants that require grad, or leaves signs of vectors free.
CONSTANTS = {"weight": {"nll_loss", "cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "multi_margin_loss"},
             "pos_weight": {"binary_cross_entropy_with_logits"},
             "target": {"soft_margin_loss"}}
FREE_SIGNS = {"linalg_svd", "svd", "linalg_eigh", "linalg_qr"}


@pytest.mark.parametrize("name", LIVE if find_spec("torch") else [])
def test_agrees_with_torch(name: str) -> None:
    """Values, shapes, dtypes and gradients of every sample are torch's."""
    import torch

    rec = RECORDS[name]
    for sample in samples(rec):
        args, kwargs = bind(rec, sample)
        for function in _torch_functions(rec):
            made: dict[str, list[Any]] = {"torch": [], "own": []}

            def convert(x: Any, lib: str, constant: bool) -> Any:
                a = np.asarray(x)
                wants = a.dtype == np.float64 and not constant
                t = torch.tensor(a, requires_grad=wants) if lib == "torch" else TensorRef.of(a.copy(), requires_grad=wants)
                if wants:
                    made[lib].append(t)
                return t

            def call(f: Any, lib: str) -> Any:
                names = [p.name for p in rec.params]
                const = {p for p, ops in CONSTANTS.items() if name in ops}
                if name in ("nn_functional_batch_norm",):
                    return f(*[tree_map(lambda x: convert(np.asarray(x, "f8"), lib, i in (1, 2)), a) for i, a in enumerate(args)], **kwargs)
                positional = [tree_map(lambda x, n=n: convert(x, lib, n in const), a) for n, a in zip([*names, *[""] * len(args)], args)]
                return f(*positional, **{k: tree_map(lambda x, k=k: convert(x, lib, k in const), v) for k, v in kwargs.items()})

            theirs, ours = call(function, "torch"), call(F.function(name), "own")
            theirs, ours = [list(r) if isinstance(r, (tuple, list)) else [r] for r in (theirs, ours)]
            assert len(theirs) == len(ours)
            for a, b in zip(theirs, ours):
                assert tuple(a.shape) == tuple(b.shape) and str(a.dtype) == repr(b.dtype)
                x, y = a.detach().numpy(), b.numpy()
                np.testing.assert_allclose(*(np.abs(x), np.abs(y)) if name in FREE_SIGNS else (x, y), rtol=1e-5, atol=1e-8)
            if name in FREE_SIGNS:
                continue
            expected = _gradients(made["torch"], theirs,
                                  lambda o: (o * torch.cos(torch.arange(o.numel(), dtype=o.dtype)).reshape(o.shape)).sum(),
                                  lambda a, b: a + b, lambda t, ts: torch.autograd.grad(t, ts, allow_unused=True))
            found = _gradients(made["own"], ours,
                               lambda o: F.sum(o * TensorRef.of(np.cos(np.arange(o._data.size, dtype=o._data.dtype)).reshape(o.shape))),
                               lambda a, b: a + b, lambda t, ts: at.grad(t, ts))
            for a, b in zip(expected, found):
                np.testing.assert_allclose(0.0 if b is None else b, np.zeros(()) if a is None else a.numpy(), rtol=1e-5, atol=1e-8)


def test_images_of_bytes_are_resized_in_fixed_point() -> None:
    """torch rounds after each dimension; the values are torch 2.13's."""
    x = at.TensorRef.of(np.arange(0, 250, 28, dtype=np.uint8).reshape(1, 1, 3, 3))
    result = at.F.function("interpolate")(x, size=(2, 4), mode="bilinear")
    assert result.numpy().dtype == np.uint8
    assert result.numpy().ravel().tolist() == [21, 39, 60, 77, 147, 165, 186, 203]


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_resampled_in_one_step(mode: str, half: type) -> None:
    """Images and gradients are rounded once, not after each dimension, and one node is recorded, as in torch."""
    rng = np.random.default_rng(4)
    given, back = rng.standard_normal((1, 2, 5, 6)).astype(half), rng.standard_normal((1, 2, 12, 13)).astype(half)
    made = []
    for dtype in (half, np.float32):
        x = ref(given.astype(dtype))
        y = F.interpolate(x, (12, 13), None, mode)
        assert y._node.edges == (x,)
        made.append([y.numpy(), at.grad(F.sum(y * TensorRef.of(back.astype(dtype))), [x])[0]])
    for narrow, single in zip(*made):
        assert narrow.dtype == half
        np.testing.assert_array_equal(narrow, single.astype(half))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("hides", ["nothing", "mask", "bias"])
def test_attention_where_keys_lie(hides: str, queries: int, dtype: type) -> None:
    """Few queries, of plain tensors and recorded, over keys whose heads lie innermost or in rows; one sees nothing behind a mask."""
    rng = np.random.default_rng(8)
    q, k, v = (rng.standard_normal((2, n, 3, 8)).astype(dtype).transpose(0, 2, 1, 3) for n in (queries, 40, 40))
    given = {"nothing": None, "mask": rng.random((queries, 40)) < 0.7, "bias": rng.standard_normal((1, 40)).astype(dtype)}[hides]
    if given is not None and given.dtype == np.bool_:
        given[0] = False
    scores = np.float64(q) @ np.float64(k).swapaxes(-2, -1) / np.sqrt(8.0)
    if given is not None:
        scores = np.where(given, scores, -np.inf) if given.dtype == np.bool_ else scores + np.float64(given)
    e = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -99))
    wanted = e / np.maximum(e.sum(-1, keepdims=True), 1e-99) @ np.float64(v)
    close = {"rtol": 2e-2, "atol": 2e-2} if dtype is ml_dtypes.bfloat16 else {"rtol": 2e-4, "atol": 1e-5}
    mask, gradients = None if given is None else ref(given, False), []
    for turn in (np.asarray, np.ascontiguousarray):
        plain = F.scaled_dot_product_attention(*[TensorRef.of(turn(a)) for a in (q, k, v)], mask)
        tensors = [TensorRef.of(turn(a), requires_grad=True) for a in (q, k, v)]
        recorded = F.scaled_dot_product_attention(*tensors, mask)
        for found in (plain, recorded):
            assert found.numpy().dtype == dtype
            np.testing.assert_allclose(np.float64(found.numpy()), wanted, **close)
        gradients.append(at.grad(F.sum(recorded * recorded), tensors))
    for one, other in zip(*gradients):
        np.testing.assert_allclose(np.float64(one), np.float64(other), **close)


def test_multi_margin_loss_between_infinities() -> None:
    """A margin that is no number counts for nothing, as in torch."""
    inf = float("inf")
    x = TensorRef.of(np.array([[-inf, 1.0, -inf], [1.0, inf, inf]]))
    assert F.multi_margin_loss(x, TensorRef.of(np.array([0, 1])), reduction="none").numpy().tolist() == [inf, 0.0]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("dtype", "largest"), [("int64", 9), ("int64", 1 << 20), ("int64", 1 << 62), ("int32", 1 << 30),
                                                ("int16", 1 << 14), ("uint8", 255)])
def test_convolutions_of_integers_are_exact(dtype: str, largest: int, groups: int) -> None:
    """Sums wrap around in their dtype, however large products are."""
    rng = np.random.default_rng(5)

    def drawn(*shape: int) -> np.ndarray:
        return rng.integers(0 if dtype == "uint8" else -largest, largest, shape, endpoint=True)

    def convolved(x: np.ndarray, w: np.ndarray, n: int) -> np.ndarray:
        windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], tuple(range(2, n + 2)))
        places, taps = [*range(3, 3 + n)], [*range(6, 6 + n)]
        parts = zip(np.split(windows, groups, 1), np.split(w, groups), strict=True)
        return np.concatenate([np.einsum(a, [0, 1, *places, *taps], b, [2, 1, *taps], [0, 2, *places]) for a, b in parts], 1)

    for size, kernel in (((9,), (3,)), ((12, 7), (3, 2)), ((4, 3, 5), (2, 2, 2))):
        n, bias = len(size), drawn(6)
        x, w, turned = drawn(2, 4, *size), drawn(6, 4 // groups, *kernel), drawn(4, 6, *kernel)
        expected = convolved(x, w, n) + bias.reshape(-1, *(1,) * n)
        found = getattr(F, f"conv{n}d")(*[ref(a.astype(dtype), False) for a in (x, w, bias)], groups=groups).numpy()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected.astype(dtype))
        if groups == 1 and dtype == "int64":  # a convolution that goes through the kernel from its end
            around = np.pad(x, [(0, 0), (0, 0), *[(k - 1, k - 1) for k in kernel]])
            expected = convolved(around, np.flip(turned, tuple(range(2, n + 2))).swapaxes(0, 1), n)
            np.testing.assert_array_equal(getattr(F, f"conv_transpose{n}d")(ref(x, False), ref(turned, False)).numpy(), expected)


@pytest.mark.parametrize(("name", "size", "arguments", "innermost"), [
    ("max_pool2d", (6, 8), (2,), True), ("avg_pool2d", (6, 8), (2,), True), ("adaptive_avg_pool2d", (6, 8), ((4, 5),), True),
    ("adaptive_max_pool2d", (6, 8), ((4, 5),), True), ("max_pool1d", (8,), (2,), True), ("avg_pool1d", (8,), (2,), True),
    ("max_pool3d", (4, 6, 5), (2,), True), ("avg_pool3d", (4, 6, 5), (2,), False), ("adaptive_avg_pool3d", (4, 6, 5), (3,), False),
    ("interpolate", (6, 8), (None, 2), True), ("interpolate", (6, 8), (None, 2, "bilinear"), True),
    ("interpolate", (6, 8), (None, 2, "bicubic"), False), ("interpolate", (4, 3, 5), (None, 2), False),
    ("interpolate", (4, 3, 5), (None, 2, "trilinear"), True)])
def test_gradients_of_images_lie_as_in_torch(name: str, size: tuple[int, ...], arguments: tuple[Any, ...], innermost: bool) -> None:
    """Those of images with their channels innermost, where what comes back lies so, too: most lie so, and some in rows."""
    rng = np.random.default_rng(6)
    rows = ref(rng.standard_normal((2, 3, *size)))
    images = TensorRef.of(np.moveaxis(np.ascontiguousarray(np.moveaxis(rows.numpy(), 1, -1)), -1, 1), requires_grad=True)
    gradients = []
    for x in (rows, images):
        y = getattr(F, name)(x, *arguments)
        gradients.append(at.grad(F.sum(y * y), [x])[0])
    assert gradients[0].flags.c_contiguous
    np.testing.assert_allclose(gradients[1], gradients[0], 1e-12)
    assert (np.moveaxis(gradients[1], 1, -1) if innermost else gradients[1]).flags.c_contiguous
