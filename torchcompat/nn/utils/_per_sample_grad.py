"""torch.nn.utils._per_sample_grad: calls of modules whose backward passes keep the gradients of examples apart.

>>> import torchcompat as torch
>>> from torchcompat.nn.utils._per_sample_grad import call_for_per_sample_grads
>>> layer = torch.nn.Linear(2, 1)
>>> call_for_per_sample_grads(layer)(torch.tensor([[1., 2.], [3., 4.]])).sum().backward()
>>> layer.weight.grad_sample
tensor([[[1., 2.]],
<BLANKLINE>
        [[3., 4.]]])
"""

from __future__ import annotations

import functools
from typing import Any

import torchcompat as torch
from autograd_tape.annotations import Fn

from ..._calls.absent import absences as _absences
from ...func._modules import functional_call
from ...utils import _pytree as pytree
from ..modules.module import Module
from ._expanded_weights import ExpandedWeight


def call_for_per_sample_grads(module: Any, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True) -> Fn:
    """A function that calls a module on a batch. The backward pass leaves the gradients of each example as `grad_sample` of the parameters
    that require grad, along a first dimension of its own.

    Args:
        batch_size: how many examples a batch has; that of the tensors it is called with where None.
        loss_reduction: "sum", or "mean" where the loss is a mean of the examples.
        batch_first: whether they lie along the first dimension of tensors, or along the second.

    Raises:
        RuntimeError: an argument is of the wrong kind, a parameter has a `grad_sample`; on the call: the module uses parameters in
            functions other than linear ones, convolutions, embeddings, and layer, group and instance norms.
    """
    def expanded(param: Any, size: int) -> Any:
        if not param.requires_grad:
            return param
        found = ExpandedWeight(param, size, loss_reduction)
        found.set_batch_first(batch_first)
        return found

    def size_of(args: object, kwargs: object) -> int:
        size: int | None = None
        for t in pytree.tree_leaves((args, kwargs)):
            if not isinstance(t, torch.Tensor):
                continue
            own = t.shape[0 if batch_first else 1]
            if size is not None and own != size:
                raise RuntimeError(f"When computing batch size, found at least one input with batch size {size} and one with batch size "
                                   f"{own}. Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads")
            size = own
        if size is None:
            raise RuntimeError("Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so ExpandedWeights "
                               "cannot compute the batch size from the inputs. Please specify it explicitly")
        return size

    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError("Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls without "
                               f"clearing gradients. Please clear out the grad_sample parameter of {weight} or post an issue to "
                               "pytorch/pytorch to prioritize correct behavior")

    @functools.wraps(module.forward)
    def wrapper(*args: object, **kwargs: Any) -> Any:
        size = size_of(args, kwargs) if batch_size is None else batch_size
        return functional_call(module, {name: expanded(p, size) for name, p in module.named_parameters()}, args, kwargs)

    return wrapper


_absences(__name__)
