"""Every record's samples in forward mode and under vmap against torch: who has a tangent, shapes, dtypes, and errors with their text."""

from __future__ import annotations

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS
from torchcompat.autograd import forward_ad

from .transform_cases import TABLE, cases

DIFFERS = {
    ("_chunk_cat", "forward mode"): "torch has none; here it follows from what the operation is made of",
    ("_fft_c2c", "forward mode"): "torch's fails inside",
    ("_fft_c2r", "forward mode"): "torch's fails inside",
    ("_fft_r2c", "forward mode"): "torch's fails inside",
    ("_native_batch_norm_legit", "forward mode"): "torch drops the tangent",
    ("_native_batch_norm_legit", "vmap"): "torch refuses running statistics that are not batched",
    ("_native_batch_norm_legit_no_training", "forward mode"): "torch drops the tangent",
    ("_scaled_mm", "forward mode"): "torch takes no float8 from NumPy, by which samples come",
    ("_scaled_mm", "vmap"): "torch takes no float8 from NumPy, by which samples come",
    ("_scaled_mm_v2", "forward mode"): "torch takes no float8 from NumPy, by which samples come",
    ("_scaled_mm_v2", "vmap"): "torch takes no float8 from NumPy, by which samples come",
    ("as_strided_scatter", "vmap"): "torch has no batching rule",
    **{(name, "vmap"): "the refusal of packed data names another overload" for name in ("gru", "lstm", "rnn_relu", "rnn_tanh")},
    ("histogram", "forward mode"): "torch refuses it, though counts have no tangent",
    ("histogramdd", "forward mode"): "torch refuses it, though counts have no tangent",
    ("histogramdd", "vmap"): "torch has no batching rule",
    ("native_group_norm", "forward mode"): "torch drops the statistics' tangents",
    ("split_copy", "vmap"): "torch has no batching rule",
    ("as_strided_", "vmap"): "torch takes the strides of an example for none of them",
    ("binary_cross_entropy", "forward mode"): "torch drops the weight's tangent, or trips over it",
    ("binary_cross_entropy_with_logits", "forward mode"): "torch drops the weight's tangent, or trips over it",
    ("contiguous", "forward mode"): "the sample names the memory format",
    ("contiguous", "vmap"): "the sample names the memory format",
    ("cross_entropy", "forward mode"): "here the weight has no derivative, with label smoothing either",
    ("nonzero", "vmap"): "the sample gives the flag by position",
    ("scatter_reduce", "forward mode"): "torch has no tangent for products, without an error",
    ("soft_margin_loss", "forward mode"): "torch drops the target's tangent, or refuses it",
}


@pytest.mark.parametrize("name", TABLE.recorded)
@pytest.mark.no_numbers("shapes, dtypes and errors are compared")
def test_transforms_of_every_sample_are_torchs(name: str) -> None:
    (path, *expected), (_, *found) = TABLE.recorded[name], TABLE.found(torch, name)
    calls = list(cases(name, path))
    assert len(calls) == len(expected) == len(found)
    differing = {case.mode: (str(case), e, f) for case, e, f in zip(calls, expected, found) if e != f}
    assert set(differing) == {mode for n, mode in DIFFERS if n == name}, differing


TOGETHER = sorted(n for n, r in RECORDS.items() if r.jvp == "linear" and sum(p.type == "Tensor" for p in r.differentiable_params) > 1)


@pytest.mark.parametrize("name", TOGETHER)
def test_what_is_linear_in_all_its_tensors_is_applied_to_tangents(name: str) -> None:
    """With positions that occur twice: the element that a result has is that whose tangent it has."""
    rng = np.random.default_rng(0)
    x, source = torch.from_numpy(rng.standard_normal((4, 3))), torch.from_numpy(rng.standard_normal((4, 3)))
    rows, places = torch.tensor([1, 1, 0, 1]), torch.tensor([[1, 1, 0]] * 4)
    calls = {"index_add_scaled": lambda a, b: torch.index_add(a, 0, rows, b, alpha=2), "index_copy": lambda a, b: a.index_copy(0, rows, b),
             "masked_scatter": lambda a, b: a.masked_scatter(places > 0, b),
             "place_view": lambda a, b: a.slice_scatter(b[:2], 0, 1, 3), "put": lambda a, b: a.put(places, b),
             "put_at": lambda a, b: a.index_put((rows,), b), "scatter_add": lambda a, b: a.scatter_add(0, places, b),
             "scatter_src": lambda a, b: a.scatter(0, places, b)}
    assert sorted(calls) == TOGETHER
    call, tangents = calls[name], [torch.from_numpy(rng.standard_normal((4, 3))) for _ in range(2)]
    zeros = torch.zeros(4, 3, dtype=torch.float64)
    for given, expected in ((tangents, call(*tangents)), ([tangents[0], zeros], call(tangents[0], zeros)),
                            ([zeros, tangents[1]], call(zeros, tangents[1]))):
        np.testing.assert_array_equal(torch.func.jvp(call, (x, source), tuple(given))[1].numpy(), expected.numpy())
    alone = torch.func.jvp(lambda b: call(x, b), (source,), (tangents[1],))[1]
    np.testing.assert_array_equal(alone.numpy(), call(zeros, tangents[1]).numpy())


SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 3)]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_tangents_of_decompositions_make_the_tangent_of_the_matrix(shape: tuple[int, ...], dtype: str) -> None:
    """Vectors are free up to a phase, which a derivative chooses; their product is not."""
    rng = np.random.default_rng(0)

    def drawn(shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype == "complex128" else 0)

    def check(product: object, matrix: np.ndarray, tangent: np.ndarray) -> None:
        value, change = torch.func.jvp(product, (torch.from_numpy(matrix),), (torch.from_numpy(tangent),))
        np.testing.assert_allclose(value.numpy(), matrix, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(change.numpy(), tangent, rtol=1e-9, atol=1e-9)

    def svd(a: torch.Tensor) -> torch.Tensor:
        U, S, Vh = torch.linalg.svd(a, full_matrices=False)
        return (U * S.unsqueeze(-2)) @ Vh

    def eigh(a: torch.Tensor) -> torch.Tensor:
        values, V = torch.linalg.eigh(a)
        return (V * values.unsqueeze(-2)) @ V.mH

    def eig(a: torch.Tensor) -> torch.Tensor:
        values, V = torch.linalg.eig(a)
        product = (V * values.unsqueeze(-2)) @ torch.linalg.inv(V)
        return product if a.is_complex() else product.real

    def cholesky(upper: bool) -> object:
        def product(a: torch.Tensor) -> torch.Tensor:
            L = torch.linalg.cholesky(a, upper=upper)
            return L.mH @ L if upper else L @ L.mH
        return product

    a, t = drawn(shape), drawn(shape)
    check(svd, a, t)
    if shape[-1] == shape[-2]:
        check(eig, a, t)
        square = a @ a.conj().swapaxes(-1, -2) + np.eye(shape[-1])
        along = t + t.conj().swapaxes(-1, -2)
        for product in (eigh, cholesky(False), cholesky(True)):
            check(product, square, along)



@pytest.mark.parametrize("shifts, dims", [(1, 0), (2, 0), (-1, 1), ((1,), (0,)), ((1, 2), (0, 1)), (1, -1), (1, None), (1, ())])
@pytest.mark.parametrize("in_dim", [0, 1, 2])
def test_roll_under_vmap_for_every_way_to_give_dimensions(shifts: object, dims: object, in_dim: int) -> None:
    x = torch.from_numpy(np.arange(24.0).reshape(2, 3, 4))
    found = torch.vmap(lambda a: torch.roll(a, shifts, dims), in_dims=in_dim)(x)
    for i in range(x.shape[in_dim]):
        np.testing.assert_array_equal(found[i].numpy(), torch.roll(x.select(in_dim, i), shifts, dims).numpy())


@pytest.mark.parametrize("size", [(2, 2), (2,), (4,), (1, 1, 3)])
def test_resizing_an_example_resizes_the_batch(size: tuple[int, ...]) -> None:
    result = torch.vmap(lambda x: x.clone().resize_(size))(torch.arange(8.0).reshape(2, 4))
    np.testing.assert_array_equal(result.numpy().reshape(-1), np.arange(2.0 * np.prod(size)))
    assert tuple(result.shape) == (2, *size)


@pytest.mark.no_numbers("an error is compared")
def test_resizing_refuses_tangents_and_batches_that_are_interleaved() -> None:
    with pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
        torch.func.jvp(lambda x: x.resize_(2), (torch.ones(4),), (torch.ones(4),))
    with pytest.raises(RuntimeError, match="NYI"):
        torch.vmap(lambda x: x.resize_(2), in_dims=1)(torch.ones(4, 2))


@pytest.mark.no_numbers("there are no elements")
def test_no_pieces_have_no_tangents() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(0, 3), torch.ones(0, 3))
        assert torch.unbind(dual) == () and forward_ad.unpack_dual(torch.split(dual, 1)[0]).tangent.shape == (0, 3)
