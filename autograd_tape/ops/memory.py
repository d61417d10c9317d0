"""Writing into a tensor's memory: copy_, fill_, zero_."""

from __future__ import annotations

import numpy as np

from ..errors import AutogradError
from ._record import op


def _copy(input: np.ndarray, src: np.ndarray) -> np.ndarray:
    if src.dtype.kind == "c" and input.dtype.kind != "c":
        src = src.real
    try:
        return np.broadcast_to(src, input.shape)
    except ValueError:
        for i in range(1, max(src.ndim, 1) + 1):
            have = input.shape[-i] if i <= input.ndim else 1
            if src.shape[-i] not in (1, have) or i > input.ndim:
                if i > input.ndim:
                    raise AutogradError(f"output with shape {list(input.shape)} doesn't match the broadcast shape "
                                        f"{list(src.shape)}") from None
                raise AutogradError(f"The size of tensor a ({have}) must match the size of tensor b ({src.shape[-i]}) at non-singleton "
                                    f"dimension {input.ndim - i}") from None
        raise


@op("copy(Tensor input, Tensor src, bool non_blocking=False) -> Tensor", family="store", quiet="all", broadcasts=False, method=False,
    inplace=True, out=False, node="CopyBackwards", namespace="_internal", dtypes="float")
class copy:
    """`input` overwritten with the values of `src`; `Tensor.copy_`.

    >>> torch.zeros(2).copy_(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """

    def numpy(input, src, non_blocking=False): return _copy(input, src)
    def store(a, src): a[...] = src if src.dtype.kind != "c" or a.dtype.kind == "c" else src.real
    def compose(F, input, src, non_blocking=False): return _copy(input, src)
    def shape(input, src, non_blocking=False): return input
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def vjp_src(F, grad, src_shape): return F.reduce_to_shape(grad, tuple(src_shape))
    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield rng.standard_normal((2, 3)), rng.standard_normal(3)


@op("fill(Tensor input, Operand value) -> Tensor", family="store", quiet="all", inplace=True, out=False, node="FillBackward1")
class fill:
    """A tensor like `input` with every element `value`.

    >>> torch.fill(torch.zeros(2), 3.)
    tensor([3., 3.])
    """

    numbers = {"value": "FillBackward0"}
    node_, numbers_ = "FillBackward3", {"value": "FillBackward2"}

    def numpy(input, value): return np.full(input.shape, value, input.dtype)
    def store(a, value): a.fill(value)
    def compose(F, input, value): return np.full(input.shape, value, input.dtype)
    def shape(input, value): return input
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def vjp_value(F, grad): return F.sum(grad)
    def samples(rng): yield rng.standard_normal((2, 3)), 1.5


@op("zero(Tensor input) -> Tensor", family="store", quiet="all", inplace=True, out=False, method=False, namespace="_internal")
class zero:
    """A tensor like `input` with every element zero; `Tensor.zero_`.

    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """

    def numpy(input): return np.zeros(input.shape, input.dtype)
    def store(a): a.fill(0)
    def compose(F, input): return np.zeros(input.shape, input.dtype)
    def shape(input): return input
    def vjp(F, grad): return F.zero_gradient(grad)
    def samples(rng): yield (rng.standard_normal((2, 3)),)
