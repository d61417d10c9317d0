"""torch.masked: reductions and normalizations of the elements that a mask lets in, and tensors that carry their mask.

>>> import torchcompat as torch
>>> x, mask = torch.tensor([[1., 2., 3.], [4., 5., 6.]]), torch.tensor([[True, False, True], [False, False, False]])
>>> torch.masked.sum(x, 1, mask=mask), torch.masked.mean(x, 1, mask=mask)
(tensor([4., 0.]), tensor([2., nan]))
"""

from .._calls.absent import absences as _absences
from ._ops import (
    _canonical_dim, _combine_input_and_mask, _input_mask, _output_mask, _reduction_identity, _where, amax, amin, argmax, argmin, cumprod,
    cumsum, log_softmax, logaddexp, logsumexp, mean, median, norm, normalize, prod, softmax, softmin, std, sum, var,
)
from . import _docs
from .maskedtensor import _ops_refs
from .maskedtensor.core import MaskedTensor, is_masked_tensor
from .maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor", "log_softmax",
    "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]

_absences(__name__)
