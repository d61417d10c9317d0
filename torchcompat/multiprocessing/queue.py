"""Queues of Python's `multiprocessing`, which send tensors as this package does, by the names of torch's module."""

from __future__ import annotations

import io
import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .._calls.absent import absences as _absences
from . import reductions as _reductions  # noqa: F401  # which has tensors sent


class ConnectionWrapper:
    """A connection that sends tensors as queues do.

    Args:
        conn: the connection, which does everything else.
    """

    def __init__(self, conn: Any) -> None:
        self.conn = conn

    def send(self, obj: object) -> None:
        """Sends an object, whose tensors move into shared memory."""
        buffer = io.BytesIO()
        ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(obj)
        self.send_bytes(buffer.getvalue())

    def recv(self) -> Any:
        """The next object that was sent."""
        return pickle.loads(self.recv_bytes())

    def __getattr__(self, name: str) -> Any:
        if name == "conn":
            raise AttributeError(f"'{type(self).__name__}' object has no attribute 'conn'")
        return getattr(self.conn, name)


Queue, SimpleQueue = multiprocessing.queues.Queue, multiprocessing.queues.SimpleQueue

_absences(__name__)
