"""What processes compute in `test_processes`: results of big kernels, told by digests, so that any two processes can be compared.

Nothing here multiplies matrices: a BLAS has threads and locks of its own.
"""

from __future__ import annotations

import faulthandler
import hashlib
import sys
from typing import Any

import numpy as np

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand, elementwise, sharing

#: Seconds within which a child has its answers; after them it shows where it hangs, and ends.
LIMIT = 30
_N = 1 << 20


def answers() -> dict[str, str]:
    """Digests of results whose kernels two threads share, alike in every process."""
    found: dict[str, Any] = {}
    hits = np.zeros(64, np.int64)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        found["randn"] = noise = torch.randn(_N)
        x = noise.reshape(1024, 1024).requires_grad_()
        found["add"] = x + x
        found["softmax"] = x.softmax(1)
        found["layer_norm"] = normed = torch.nn.functional.layer_norm(x, (1024,))
        (normed.sigmoid() * x).sum().backward()
        found["backward"] = x.grad
        found["dropout"] = torch.nn.functional.dropout(x)
    elementwise._compiled.sigmoid.shared.pop("d", None)  # whether or not the parent has it, machine code can be loaded
    found["loaded"] = torch.sigmoid(noise.double())
    sharing.parallel_for(64, 1, lambda start, stop: hits[start:stop].__iadd__(1))
    arrays = {name: value.detach().numpy() for name, value in found.items()} | {"parallel_for": hits}
    return {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in arrays.items()}


def child(_: object = None) -> dict[str, str]:
    """``answers`` in a child, which does not outlive its time."""
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=sys.__stderr__)
    _on_demand.use_numba("auto")
    torch.set_num_threads(2)
    try:
        found = answers()
        assert sharing._pool.workers and sharing._pool.serve is not None, "nothing was shared"
        return found
    finally:
        faulthandler.cancel_dump_traceback_later()


def tell(pipe: Any) -> None:
    """What a process runs: sends what ``child`` gives, or what it raises."""
    try:
        pipe.send(child())
    except BaseException as error:
        pipe.send(repr(error))
        raise


class Answers(torch.utils.data.Dataset):
    """Each element is what the worker that fetches it answers."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> dict[str, str]:
        return child()
