"""torch.utils.tensorboard: what training logs, as events that TensorBoard shows. Needs the package `tensorboard`.

Raises:
    ImportError: the package is missing, or older than 1.15.
"""

import tensorboard as _package

if [int(part) for part in getattr(_package, "__version__", "0").split(".")[:2] if part.isdigit()] < [1, 15]:
    raise ImportError("TensorBoard logging requires TensorBoard version 1.15 or above")

from tensorboard.summary.writer.record_writer import RecordWriter

from ..._calls.absent import absences as _absences
from . import summary, writer
from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]

_absences(__name__)
