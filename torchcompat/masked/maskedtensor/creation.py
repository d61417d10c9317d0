"""How masked tensors are made."""

from torchcompat._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

from .core import MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A MaskedTensor of copies of data and mask that is a leaf of the graph, as `torch.tensor` makes.

    >>> import torchcompat as torch, warnings
    >>> warnings.simplefilter("ignore", UserWarning)
    >>> torch.masked.masked_tensor(torch.tensor([1., 2.]), torch.tensor([True, False]))
    MaskedTensor(
      [  1.0000,       --]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A MaskedTensor of copies of data and mask through which gradients reach data, as `torch.as_tensor` makes."""
    return MaskedTensor._from_values(data, mask)


_absences(__name__)
