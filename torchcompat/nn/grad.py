"""Gradients of convolutions by name.

>>> import torchcompat as torch
>>> torch.nn.grad.conv1d_input((1, 1, 3), torch.ones(1, 1, 2), torch.ones(1, 1, 2))
tensor([[[1., 2., 1.]]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchcompat._tensor import frontend as _frontend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchcompat._tensor import Tensor

    Ints = Sequence[int] | int


def _several(x: Ints, n: int) -> tuple[int, ...]:
    return (x,) * n if isinstance(x, int) else tuple(x)


def _checked(size: tuple[int, ...], weight: tuple[int, ...], grad: tuple[int, ...], n: int, stride: Ints, padding: Ints, dilation: Ints
             ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Stride, padding and dilation, of each dimension; RuntimeError where the gradient is not of the convolution's output."""
    if len(size) != n + 2 or len(weight) != n + 2:
        raise RuntimeError(f"a convolution of {n} dimensions has an input and a weight of {n + 2}, but got {len(size)} and {len(weight)}")
    given = [_several(x, n) for x in (stride, padding, dilation)]
    out = [(m + 2 * p - d * (k - 1) - 1) // s + 1 for m, k, s, p, d in zip(size[2:], weight[2:], *given)]
    for i, wanted in enumerate((size[0], weight[0], *out)):
        if len(grad) != n + 2 or grad[i] != wanted:
            raise RuntimeError(f"Expected a tensor of dimension {n + 2} and tensor.size[{i}] == {wanted} but got: dimension {len(grad)} "
                               f"and tensor.size[{i}] = {grad[i] if i < len(grad) else None}")
    return given[0], given[1], given[2]


def _of_input(n: int) -> Callable[..., Tensor]:
    def function(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1,
                 groups: int = 1) -> Tensor:
        size = tuple(input_size)
        given = _checked(size, tuple(weight.shape), tuple(grad_output.shape), n, stride, padding, dilation)
        found: Tensor = _frontend.convolution_nd_input(grad_output, weight, size, *given, groups)
        return found

    function.__name__ = function.__qualname__ = f"conv{n}d_input"
    function.__doc__ = f"The gradient of `conv{n}d` for an input of a size, from that of its output."
    return function


def _of_weight(n: int) -> Callable[..., Tensor]:
    def function(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1,
                 groups: int = 1) -> Tensor:
        size = tuple(weight_size)
        given = _checked(tuple(input.shape), size, tuple(grad_output.shape), n, stride, padding, dilation)
        found: Tensor = _frontend.convolution_nd_weight(input, grad_output, size, *given, groups)
        return found

    function.__name__ = function.__qualname__ = f"conv{n}d_weight"
    function.__doc__ = f"The gradient of `conv{n}d` for a weight of a size, from that of its output."
    return function


conv1d_input, conv2d_input, conv3d_input = map(_of_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, (1, 2, 3))
