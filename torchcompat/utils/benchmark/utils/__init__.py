"""The parts of torch.utils.benchmark."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import common as common, compare as compare, fuzzer as fuzzer, timer as timer
