"""Element-wise arithmetic and functions of one, two and three tensors."""

from __future__ import annotations

import numpy as np

from ._record import op


# -- arithmetic -----------------------------------------------------------------------------------------------------


@op("add(Tensor input, Operand other, *, Scalar alpha=1) -> Tensor", family="binary", promotion="promote", result="same",
    quiet="all", broadcasts=True, inplace=True)
class add:
    """input + alpha * other, element by element.

    >>> torch.add(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=2)
    tensor([21., 42.])
    """

    numpy = np.add
    mindspore = "ops.Add"
    def vjp_input(F, grad): return grad
    def vjp_other(F, grad, alpha): return grad if alpha == 1 else grad * alpha

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield rng.standard_normal((2, 1, 3)), rng.standard_normal((4, 1))
        yield rng.standard_normal((2, 3)), 2.5
        yield rng.standard_normal(()), rng.standard_normal(2)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, (
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1")


@op("mul(Tensor input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all", broadcasts=True,
    inplace=True, alias="multiply")
class mul:
    """input * other, element by element.

    >>> torch.mul(torch.tensor([1., 2.]), 3)
    tensor([3., 6.])
    """

    numpy = np.multiply
    mindspore = "ops.Mul"
    def vjp_input(F, grad, other): return grad * other
    def vjp_other(F, grad, input): return grad * input

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield rng.standard_normal((2, 1, 3)), rng.standard_normal((4, 1))
        yield rng.standard_normal((2, 3)), 2.5


@op("neg(Tensor input) -> Tensor", family="unary", promotion="promote", result="same", quiet="all", inplace=True, alias="negative")
class neg:
    """-input.

    >>> torch.neg(torch.tensor([1., -2.]))
    tensor([-1.,  2.])
    """

    numpy = np.negative
    mindspore = "ops.Neg"
    def vjp(F, grad): return -grad
    def samples(rng): yield (rng.standard_normal((2, 3)),)


@op("exp(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True)
class exp:
    """e to the power of each element.

    >>> torch.exp(torch.tensor([0., 1.]))
    tensor([1.0000, 2.7183])
    """

    numpy = np.exp
    mindspore = "ops.Exp"
    def vjp(F, grad, result): return grad * result
    def samples(rng): yield (rng.standard_normal((2, 3)),)
