"""torch.special: special functions.

>>> import torchcompat as torch
>>> torch.special.expit(torch.tensor([0., 2.]))
tensor([0.5000, 0.8808])
"""

from typing import TYPE_CHECKING

from ._calls.namespace import operations as _operations

if TYPE_CHECKING:
    from ._calls.of_special import *
else:
    __getattr__, __dir__ = _operations(__name__)
    __all__ = [*__dir__()]  # noqa: PLE0604  # they are strings
