"""torch.jit.annotations: type hints of programs of TorchScript."""

from __future__ import annotations

from typing import (  # noqa: UP035  # names that programs import from here
    Any as Any, Dict as Dict, List as List, Optional as Optional, Tuple as Tuple, Union as Union,
)

from .._calls.absent import absences as _absences
from .._jit_internal import (
    BroadcastingList1 as BroadcastingList1, BroadcastingList2 as BroadcastingList2, BroadcastingList3 as BroadcastingList3,
    BroadcastingList4 as BroadcastingList4, BroadcastingList5 as BroadcastingList5, BroadcastingList6 as BroadcastingList6,
)
from ..futures import Future as Future

_absences(__name__)
