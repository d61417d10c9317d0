"""torch.linalg: operations on matrices.

>>> import torchcompat as torch
>>> torch.linalg.det(torch.tensor([[2., 0.], [1., 3.]]))
tensor(6.)
"""

from ._calls.frontend import LinAlgError as LinAlgError
from ._calls.namespace import operations as _operations

__getattr__, __dir__ = _operations(__name__)
