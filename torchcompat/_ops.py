"""The classes of what `torch.ops` has: namespaces, operations and their overloads.

Checkers of types are told of operations by a file beside this one, which is written of their records.
"""

from torchcompat._calls.absent import absences as _absences
from torchcompat._calls.aten import OpOverload, OpOverloadPacket, _OpNamespace as _OpNamespace

from . import ops as ops

__all__ = ["OpOverload", "OpOverloadPacket"]

_absences(__name__)
