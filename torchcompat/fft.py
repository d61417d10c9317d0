"""torch.fft: discrete Fourier transforms.

>>> import torchcompat as torch
>>> torch.fft.rfft(torch.tensor([1., 0., 0., 0.]))
tensor([1.+0.j, 1.+0.j, 1.+0.j])
"""

from typing import TYPE_CHECKING

from ._tensor import Tensor as Tensor
from ._calls.namespace import operations as _operations

if TYPE_CHECKING:
    from ._calls.of_fft import *
else:
    _get, __dir__ = _operations(__name__)

    def __getattr__(name: str) -> object:
        return [*__dir__(), "Tensor"] if name == "__all__" else _get(name)  # which asks for all records
