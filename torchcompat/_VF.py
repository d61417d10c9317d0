"""torch's functions below their Python wrappers: those of `torch` but for the few that the wrappers give other results."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape.annotations import Fn
from autograd_tape.dtypes import c_name, float64, int8, int32, int64, uint8
from autograd_tape.errors import type_name

from ._tensor import Tensor, frontend
from torchcompat.random import Generator


def _all_results(found: object, *asked: bool) -> tuple[Tensor, ...]:
    """`found` with empty tensors in the places of what was not asked for."""
    results = iter(found if isinstance(found, tuple) else (found,))
    return (next(results), *[next(results) if a else frontend.wrap(np.zeros(0, np.int64)) for a in asked])


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, ...]:
    """The distinct elements and where each element went, which is empty where it was not asked for."""
    return _all_results(frontend.unique(input, sorted, return_inverse), return_inverse)


def _unique2(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> tuple[Tensor, ...]:
    """The same, and how often each occurs."""
    return _all_results(frontend.unique(input, sorted, return_inverse, return_counts), return_inverse, return_counts)


def unique_dim(input: Tensor, dim: int, sorted: bool = True, return_inverse: bool = True, return_counts: bool = False
               ) -> tuple[Tensor, ...]:
    """The distinct parts along a dimension; always with where each went and how often it occurs."""
    return _all_results(frontend.unique(input, sorted, True, True, dim), True, True)


def _compute_linear_combination(input: Tensor, coefficients: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sums over k of coefficients[i, k] * input[k]; with `out`, added to what is there, as in torch."""
    found: Tensor = frontend.tensordot(coefficients.to(input.dtype), input, 1)
    return found if out is None else out.add_(found)


def _rrelu(name: str) -> Fn:
    def function(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
                 generator: Generator | None = None) -> Tensor:
        if lower > upper:
            raise RuntimeError("Lower bound should be less than or equal to the upper bound")
        slopes = None
        if training:
            if input._k.dtype.group or input.is_complex():
                raise input._k.dtype.missing("rrelu_with_noise_out_cpu")
            slopes = frontend.ones_like(input, requires_grad=False)
            negative = input.detach() <= 0
            # One number for each element that needs it, in double precision: the numbers that torch draws.
            drawn = frontend.empty((int(negative.sum()),), dtype=float64).uniform_(lower, upper, generator=generator)
            slopes[negative] = drawn.to(input.dtype)
        result: Tensor = frontend.function(name)(input, slopes, lower, upper, training)
        return result

    function.__name__ = function.__qualname__ = name.replace("_with_noise", "")
    function.__doc__ = """input where it is positive, else input times a slope, which is drawn anew for each element in training, and the
    mean of the bounds otherwise (Xu et al., 2015)."""
    return function


rrelu, rrelu_ = _rrelu("rrelu_with_noise"), _rrelu("rrelu_with_noise_")
embedding_renorm_ = frontend.embedding_renorm_


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes of a tensor."""
    if not isinstance(input, Tensor):
        raise TypeError(f"_shape_as_tensor(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    return frontend.wrap(np.array(input.shape, np.int64))


def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices of bytes, summed up in int32.

    Raises:
        RuntimeError: they are no matrices, have another dtype, or do not fit.
    """
    for name, t in (("self", input), ("mat2", mat2)):
        if t.ndim != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {t.ndim}")
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {input.shape[1]} and {mat2.shape[0]}")
    if input.dtype not in (int8, uint8):
        raise RuntimeError(f"int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got {c_name(input.dtype)}")
    if mat2.dtype is not int8:
        raise RuntimeError(f"int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got {c_name(mat2.dtype)}")
    found: Tensor = input.to(int32) @ mat2.to(int32)
    return found if out is None else out.resize_(found.shape).copy_(found)


def _indices(name: str, input: Tensor) -> np.ndarray:
    if input.dtype not in (int32, int64):
        raise input.dtype.missing(f"convert_indices_from_{name}_cpu")
    return input.detach().numpy()


def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each row begins in a sorted list of the rows of elements, and where the last one ends.

    Raises:
        RuntimeError: it is no vector.
        IndexError: a row lies outside of the matrix.
    """
    if self.ndim > 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {self.ndim} dimensional tensor.")
    rows = _indices("coo_to_csr", self).reshape(-1)
    if rows.size and not 0 <= rows.min() <= rows.max() < size:
        raise IndexError(f"an index lies outside of the {size} rows")
    return frontend.wrap(np.searchsorted(rows, np.arange(size + 1)).astype(np.int32 if out_int32 else np.int64))


def _convert_indices_from_csr_to_coo(crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
                                     ) -> Tensor:
    """The places of elements, in rows of one number per dimension, from where rows begin and the elements' columns.

    Raises:
        RuntimeError: the rows hold another number of elements than there are columns.
    """
    starts, columns = _indices("csr_to_coo", crow_indices), _indices("csr_to_coo", col_indices)
    counts = np.diff(starts, axis=-1)
    if counts.size and counts.min() < 0 or (counts.sum(-1) != columns.shape[-1]).any() or starts.shape[:-1] != columns.shape[:-1]:
        raise RuntimeError("crow_indices does not count the elements of col_indices")
    *batches, rows = np.indices(counts.shape).reshape(counts.ndim, -1).repeat(counts.reshape(-1), 1)
    last = (columns.reshape(-1), rows) if transpose else (rows, columns.reshape(-1))
    return frontend.wrap(np.stack([*batches, *last]).astype(np.int32 if out_int32 else np.int64))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import torchcompat

    return getattr(torchcompat, name)
