"""torch.fft: discrete Fourier transforms.

>>> import torchcompat as torch
>>> torch.fft.rfft(torch.tensor([1., 0., 0., 0.]))
tensor([1.+0.j, 1.+0.j, 1.+0.j])
"""

from ._calls.namespace import operations as _operations

__getattr__, __dir__ = _operations(__name__)
