"""Operations of layers that have a gradient of their own making."""

from __future__ import annotations

from typing import Any

import torchcompat as torch

__all__: list[str] = []


def _windows(channels: int, first: int, last: int, keeps_zero: bool, like: Any) -> Any:
    """[channels, channels]: 1 where channel c + first <= j <= c + last, and in the first column if `keeps_zero`."""
    c, j = torch.arange(channels)[:, None], torch.arange(channels)
    inside = (j >= c + first) & (j <= c + last)
    return (inside | (j == 0) if keeps_zero else inside).to(like.dtype)


class CrossMapLRN2d(torch.autograd.Function):
    """input / (k + alpha / size * the sum of squares over neighbouring channels)^beta, of [N, C, H, W] (Krizhevsky et al., 2012).

    As in torch, the first channel counts in every window, and the gradient's windows of an even `size` are not those of the result.
    """

    @staticmethod
    def forward(ctx: Any, input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> Any:
        """The normalized input. ValueError of other than four dimensions."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = int((size - 1) / 2 + 1)
        windows = _windows(input.size(1), 1 - reach, reach - 1, True, input)
        sums = (windows @ input.square().flatten(2)).view(input.shape)
        ctx.scale = sums * (alpha / size) + k
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        output = ctx.scale.pow(-beta) * input
        ctx.save_for_backward(input, output)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> tuple[Any, ...]:
        """The gradient. RuntimeError where `size` is 1."""
        input, output = ctx.saved_tensors
        channels, ahead = input.size(1), int(ctx.size - (ctx.size - 1) / 2)
        if ahead > ctx.size - 1:
            raise RuntimeError(f"start ({ahead}) + length ({channels}) exceeds dimension size ({channels + ctx.size - 1}).")
        ratio = (grad_output * output / ctx.scale).flatten(2)
        sums = (_windows(channels, -ahead, ctx.size - 1 - ahead, False, input) @ ratio).view(input.shape)
        grad = ctx.scale.pow(-ctx.beta) * grad_output - 2 * ctx.alpha * ctx.beta / ctx.size * input * sums
        return grad, None, None, None, None
