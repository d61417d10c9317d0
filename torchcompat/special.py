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
    _get, __dir__ = _operations(__name__)

    def __getattr__(name: str) -> object:
        return __dir__() if name == "__all__" else _get(name)  # which asks for all records
