"""Functions of a batch and expanded weights, one for all: the gradients of weights by `vmap`."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import torchcompat as torch
import torchcompat.nn.functional as F
from autograd_tape.annotations import Arguments, Fn, Keywords

from ...._calls.above import above
from ...._calls.absent import absences as _absences
from ....autograd.function import Function
from .expanded_weights_impl import HANDLED_FUNCTIONS, ExpandedWeight, unpacked
from .expanded_weights_utils import check_batch, set_grad_sample_if_exists, unpack_expanded_weight_or_tensor


def _given(sample: Any, weight: ExpandedWeight) -> Any:
    return sample


class PerSampleGrad(Function):
    """A function of a batch and weights. Its gradients of weights are those of one example after the other, by `vmap`."""

    @classmethod
    def of(cls, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        """What the function gives of a call with expanded weights."""
        given = dict(inspect.signature(func).bind(*args, **kwargs).arguments)
        cls.check(given)
        check_batch(func, tuple(given.values()))
        names = [name for name, value in given.items() if isinstance(value, torch.Tensor)]
        return cls.apply(func, given, names, *[given[name] for name in names])

    @classmethod
    def check(cls, given: Keywords) -> None:
        """RuntimeError where examples cannot be kept apart."""

    @classmethod
    def again(cls, given: Keywords) -> Keywords:
        """The arguments with which the function does the same for the backward pass, and changes nothing."""
        return given

    @staticmethod
    def forward(ctx: Any, func: Fn, given: Keywords, names: list[str], *tensors: Any) -> Any:
        """The function's result."""
        ctx.func, ctx.given, ctx.names, ctx.weights = func, given, names, tensors[1:]
        ctx.save_for_backward(*map(unpacked, tensors))
        return func(**{name: unpacked(value) for name, value in given.items()})

    @classmethod
    def backward(cls, ctx: Any, grad: Any) -> Any:
        """The gradient of the batch; those of weights are left at the parameters."""
        batch, *values = ctx.saved_tensors
        for weight in ctx.weights:
            unpack_expanded_weight_or_tensor(weight)
        rest = {name: unpacked(value) for name, value in cls.again(ctx.given).items()}

        def result(batch: Any, *values: Any) -> Any:
            return ctx.func(**{**rest, ctx.names[0]: batch, **{name: value for name, value in zip(ctx.names[1:], values) if name in rest}})

        of_batch = above.vjp(lambda x: result(x, *values), batch)[1](grad)[0] if ctx.needs_input_grad[3] else None
        wanted = [i for i, weight in enumerate(ctx.weights) if isinstance(weight, ExpandedWeight)]

        def of_example(x: Any, g: Any) -> Any:
            def of_weights(*changed: Any) -> Any:
                whole = list(values)
                for i, value in zip(wanted, changed):
                    whole[i] = value
                return result(x.unsqueeze(0), *whole)

            return above.vjp(of_weights, *[values[i] for i in wanted])[1](g.unsqueeze(0))

        samples = above.vmap(of_example)(batch, grad) if wanted else ()
        for i, sample in zip(wanted, samples):
            set_grad_sample_if_exists(ctx.weights[i], partial(_given, sample))
        return None, None, None, of_batch, *[None for _ in values]


class LinearPerSampleGrad(PerSampleGrad):
    """`linear`."""

    @classmethod
    def check(cls, given: Keywords) -> None:
        """RuntimeError for a single example."""
        batch = given["input"]
        if not isinstance(batch, ExpandedWeight) and batch.dim() < 2:
            raise RuntimeError("Input does not have a batch dimension. Expanded Weights expected input of at least rank 2, got of rank "
                               f"{batch.dim()}")


class ConvPerSampleGrad(PerSampleGrad):
    """`conv1d` to `conv3d`."""


class EmbeddingPerSampleGrad(PerSampleGrad):
    """`embedding`."""

    @classmethod
    def check(cls, given: Keywords) -> None:
        """RuntimeError for a single example."""
        batch = given["input"]
        if not isinstance(batch, ExpandedWeight) and batch.dim() == 1:
            raise RuntimeError(f"Expanded Weights needs an input with a batch size, got a 1D tensor, {batch}")

    @classmethod
    def again(cls, given: Keywords) -> Keywords:
        """Rows are renormed, and gradients are dense; those of the row for padding are kept, too, as in torch."""
        return {**given, "padding_idx": None, "max_norm": None, "sparse": False, "scale_grad_by_freq": False}


class LayerNormPerSampleGrad(PerSampleGrad):
    """`layer_norm`."""

    @classmethod
    def check(cls, given: Keywords) -> None:
        """RuntimeError where examples are normalized together."""
        shape = given["normalized_shape"]
        if len(given["input"].shape) <= len(shape):
            raise RuntimeError("Expanded Weights: Layer norm should not normalize over batch dimension for per sample gradient"
                               f"computations but got that normalized shape, {shape}, matched input shape.")


class GroupNormPerSampleGrad(PerSampleGrad):
    """`group_norm`."""


class InstanceNormPerSampleGrad(PerSampleGrad):
    """`instance_norm`."""

    @classmethod
    def again(cls, given: Keywords) -> Keywords:
        """Statistics of the batch are counted once."""
        return {name: value for name, value in given.items() if name not in ("running_mean", "running_var")} if given.get(
            "use_input_stats", True) else given


HANDLED_FUNCTIONS.update({
    F.linear: LinearPerSampleGrad, F.conv1d: ConvPerSampleGrad, F.conv2d: ConvPerSampleGrad, F.conv3d: ConvPerSampleGrad,
    F.embedding: EmbeddingPerSampleGrad, F.layer_norm: LayerNormPerSampleGrad, F.group_norm: GroupNormPerSampleGrad,
    F.instance_norm: InstanceNormPerSampleGrad})

_absences(__name__)
