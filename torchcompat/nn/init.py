"""Filling tensors with initial values, in the same order of random numbers as torch."""

from __future__ import annotations

import math
from typing import Any, cast
from collections.abc import Callable

from autograd_tape import warned
from autograd_tape.annotations import SomeFn
import torchcompat as torch
from torchcompat._tensor import Tensor
from torchcompat._tensor import frontend as _frontend
from torchcompat.random import Generator

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_", "sparse_",
    "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a nonlinearity shrinks standard deviations, to be made up for in the weights.

    Args:
        nonlinearity: a name of `nn.functional`.
        param: the negative slope of "leaky_relu" (0.01 where None).

    >>> calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _fill(fill: Callable[[Tensor], Any], tensor: Tensor) -> Tensor:
    with torch.no_grad():
        fill(tensor)
    return tensor


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Generator | None = None) -> Tensor:
    return _fill(lambda t: t.uniform_(a, b, generator=generator), tensor)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Generator | None = None) -> Tensor:
    return _fill(lambda t: t.normal_(mean, std, generator=generator), tensor)


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    return _fill(lambda t: t.fill_(val), tensor)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    return _fill(lambda t: t.zero_(), tensor)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with values uniform between `a` and `b`."""
    return _fill(lambda t: t.uniform_(a, b, generator=generator), tensor)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills with normal values."""
    return _fill(lambda t: t.normal_(mean, std, generator=generator), tensor)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with `val`."""
    return _fill(lambda t: t.fill_(val), tensor)


def ones_(tensor: Tensor) -> Tensor:
    """Fills with 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills with 0."""
    return _fill(lambda t: t.zero_(), tensor)


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Generator | None = None) -> Tensor:
    """Fills with values of a normal distribution cut to [a, b].

    Values outside are drawn again; where the interval holds less than 0.3 of the distribution, uniform candidates are
    accepted with the density relative to its peak in [a, b] instead.
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warned.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.")

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    draw = _redraw_outside if below(b) - below(a) > 0.3 else _accept_uniform
    return _fill(lambda t: draw(t, mean, std, a, b, generator), tensor)


def _redraw_outside(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> None:
    # Bounds as the tensor's dtype holds them, lest a value rounded onto a bound be drawn for ever.
    low, high = [torch.tensor(bound, dtype=tensor.dtype, device="cpu").item() for bound in (a, b)]
    tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (tensor < low) | (tensor > high)
        if not outside.any():
            return
        tensor.copy_(torch.where(outside, torch.empty_like(tensor).normal_(mean, std, generator=generator), tensor))


def _accept_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> None:
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    threshold = torch.empty_like(tensor)
    tensor.uniform_(a, b, generator=generator)
    candidates, pending = tensor.clone(), None
    while True:
        log_density = candidates.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        rejected = threshold.uniform_(generator=generator).log_().gt(log_density)
        pending = rejected if pending is None else pending & rejected
        if not pending.any():
            return
        candidates.uniform_(a, b, generator=generator)
        tensor.copy_(torch.where(pending, candidates, tensor))


def eye_(tensor: Tensor) -> Tensor:
    """Fills a 2-dim tensor with the identity."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(lambda t: t.copy_(torch.eye(*t.shape, dtype=t.dtype, device=t.device)), tensor)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills the weight of a convolution such that it passes as many channels through as it can.

    Args:
        tensor: a 3, 4 or 5-dim weight.
        groups: the convolution's groups.
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    middle = tuple(n // 2 for n in sizes[2:])
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, sizes[1])):
                tensor[(group * per_group + channel, channel, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """(inputs per output, outputs per input) of a weight [out, in, *kernel]."""
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills uniformly with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fills normally with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor)))), generator)


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None) -> Tensor:
    """Fills uniformly with standard deviation gain / sqrt(fan) (He et al., 2015).

    Args:
        tensor: a weight [out, in, *kernel].
        a: the negative slope where `nonlinearity` is "leaky_relu".
        mode: "fan_in" keeps the variance forward, "fan_out" backward.
        nonlinearity: what follows the layer, see `calculate_gain`.
        generator: where the random numbers come from; torch's default generator where None.
    """
    if 0 in tensor.shape:
        warned.warn("Initializing zero-element tensors is a no-op")
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None) -> Tensor:
    """Fills normally with standard deviation gain / sqrt(fan) (He et al., 2015); arguments as `kaiming_uniform_`."""
    if 0 in tensor.shape:
        warned.warn("Initializing zero-element tensors is a no-op")
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fills with a (semi) orthogonal matrix, dimensions after the first flattened (Saxe et al., 2013)."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with torch.no_grad():
        flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = _frontend.linalg_qr(flat.t() if rows < columns else flat)
        q = q * r.diagonal().sign()  # uniform over orthogonal matrices, arXiv:math-ph/0609050
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fills a 2-dim tensor normally, with the fraction `sparsity` of each column zero (Martens, 2010)."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[torch.randperm(rows)[:math.ceil(sparsity * rows)], column] = 0
    return tensor


def _deprecated(function: SomeFn) -> SomeFn:
    name = function.__name__

    def old(*args: Tensor, **kwargs: object) -> object:
        warned.warn(f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning)
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = name[:-1]
    old.__doc__ = f"The old name of `{name}`."
    return cast("SomeFn", old)


uniform, normal, constant, eye = _deprecated(uniform_), _deprecated(normal_), _deprecated(constant_), _deprecated(eye_)
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
dirac, orthogonal, sparse = _deprecated(dirac_), _deprecated(orthogonal_), _deprecated(sparse_)
