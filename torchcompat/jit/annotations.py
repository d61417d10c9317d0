"""torch.jit.annotations: type hints of programs of TorchScript."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .._jit_internal import (
    Any as Any, BroadcastingList1 as BroadcastingList1, BroadcastingList2 as BroadcastingList2, BroadcastingList3 as BroadcastingList3,
    BroadcastingList4 as BroadcastingList4, BroadcastingList5 as BroadcastingList5, BroadcastingList6 as BroadcastingList6, Dict as Dict,
    Future as Future, List as List, Optional as Optional, Tuple as Tuple, Union as Union,
)

_absences(__name__)
