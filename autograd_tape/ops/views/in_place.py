"""Views that take the place of the tensor itself: `x.t_()`, `x.squeeze_()`. Only shape and strides change, no element moves."""

from __future__ import annotations

from functools import cache
from typing import Any
from collections.abc import Callable

import numpy as np

from ...modes import GradMode, grad_mode
from ...record import op
from ...annotations import Fn, Functions
from ...tensor import TensorRef
from .parts import laid_anew
from .shape import _squeeze, _t, _transpose, _unsqueeze


@cache
def _entry_class(made: type, node: str) -> type:
    return type(node, (made,), {"__slots__": (), "__module__": made.__module__})


def _become(name: str, nodes: Callable[..., int] = lambda *args: 1) -> Fn:
    """A `function` field: the tensor becomes the view that operation `name` makes of it, and where that is recorded has its history.
    Entries are numbered as torch's are: `t` makes a TBackward0, `t_` a TBackward1."""
    def function(F: Functions, input: TensorRef, *args: Any, **kwargs: Any) -> TensorRef:
        F.check_inplace(input, [])
        view = getattr(F, name)(input, *args, **kwargs)
        if F.become(input, view):
            if grad_mode() is GradMode.ENABLED and input._node is not None:
                node = view._node
                made: Any = type(node)
                node.__class__ = _entry_class(made, f"{type(node).__name__[:-1]}{nodes(*args, *kwargs.values())}")
                input._node = node
            F.bump(input)
        return input

    return function


@op("t_(Tensor input) -> Tensor", namespace="Tensor", out=False)
class t_:
    """In-place version of `t`.

    >>> torch.zeros(2, 3).t_().shape
    torch.Size([3, 2])
    """

    becomes = _t
    function = _become("t")
    def samples(rng): yield (rng.standard_normal((2, 3)),)


@op("transpose_(Tensor input, int dim0, int dim1) -> Tensor", namespace="Tensor", alias=("swapaxes_", "swapdims_"), out=False)
class transpose_:
    """In-place version of `transpose`.

    >>> torch.zeros(2, 3).transpose_(0, 1).shape
    torch.Size([3, 2])
    """

    becomes = _transpose
    function = _become("transpose")
    def samples(rng): yield rng.standard_normal((2, 3)), 0, 1


_squeezed = _become("squeeze", lambda dim: 3 if dim is None else 4 if isinstance(dim, int) else 5)


@op("squeeze_(Tensor input, int[]? dim=None) -> Tensor", varargs="dim", namespace="Tensor", out=False)
class squeeze_:
    """In-place version of `squeeze`.

    >>> torch.zeros(2, 1).squeeze_().shape
    torch.Size([2])
    """

    becomes = _squeeze
    def function(F, input, dim=None): return _squeezed(F, input, dim)
    def samples(rng): yield rng.standard_normal((2, 1)), 1


@op("unsqueeze_(Tensor input, int dim) -> Tensor", namespace="Tensor", out=False)
class unsqueeze_:
    """In-place version of `unsqueeze`.

    >>> torch.zeros(2).unsqueeze_(0).shape
    torch.Size([1, 2])
    """

    becomes = _unsqueeze
    function = _become("unsqueeze")
    def samples(rng): yield rng.standard_normal(3), 0


@op("as_strided_(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor", out=False)
class as_strided_:
    """In-place version of `as_strided`.

    >>> torch.arange(4.).as_strided_((2, 2), (1, 2))
    tensor([[0., 2.],
            [1., 3.]])
    """

    becomes = laid_anew
    function = _become("as_strided")
    def samples(rng): yield np.arange(6.0), (2, 2), (1, 2)
