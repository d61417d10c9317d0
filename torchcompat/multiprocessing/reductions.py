"""How tensors and storages travel between processes: the block of shared memory they lie in, and where in it."""

from __future__ import annotations

import os
from functools import cache
from multiprocessing import resource_sharer as _  # noqa: F401  # before a fork: a queue's thread would import it in the midst of one
from multiprocessing.reduction import DupFd, ForkingPickler
from multiprocessing.util import Finalize
from typing import Any

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Keywords
from autograd_tape.dtypes import CPU, DType, kind
from autograd_tape.strided import address, owner_of
from autograd_tape.tensor import LEAF, NOTHING

from .._calls.absent import absences as _absences
from .._memory import shared
from .._memory.shared import Block, block_of, is_shared
from .._tensor import Tensor, _kind_for
from .._memory.bits import bits_of, marked, with_bits
from ..nn.parameter import Buffer, Parameter
from ..storage import TypedStorage, UntypedStorage


@cache
def _forget_names_at_exit(pid: int) -> None:
    Finalize(None, shared.forget_names, ([pid],), exitpriority=0)


def reduce_block(block: Block) -> Arguments:
    """A block, by a name where that is how they are sent and it can have one, else by its descriptor."""
    name = block.name() if shared.by_name else None
    if name is None:
        return rebuild_block, (DupFd(block.fd), len(block))
    _forget_names_at_exit(os.getpid())
    return shared.opened, (name, len(block))


def rebuild_block(descriptor: Any, size: int) -> Block:
    """The block that was sent."""
    return Block(size, descriptor.detach())


def reduce_storage(storage: UntypedStorage) -> Arguments:
    """A storage, which moves into shared memory."""
    if storage.device.type != "cpu":
        raise RuntimeError(f"Cannot pickle storage on device '{storage.device}' to send it to another process")
    if not is_shared(storage._owner) or block_of(storage._owner) is None:
        storage.share_memory_()
    block = block_of(storage._owner)
    if block is None:  # a file that somebody mapped
        return rebuild_copy, (storage._bytes.tobytes(),)
    return rebuild_storage, (block, address(storage._owner) - address(block.array(0, 1)), storage.nbytes())


def rebuild_storage(block: Block, offset: int, size: int) -> UntypedStorage:
    """The storage that was sent."""
    return UntypedStorage.of(block.array(offset, size))


def rebuild_copy(data: bytes) -> UntypedStorage:
    """A storage that was sent by value."""
    return UntypedStorage.of(np.frombuffer(bytearray(data), np.uint8))


def reduce_typed_storage(storage: TypedStorage) -> Arguments:
    """A storage of one dtype."""
    return TypedStorage.of, (storage.untyped(), storage.dtype)


def reduce_tensor(t: Tensor) -> Any:
    """A tensor, whose storage moves into shared memory.

    Raises:
        RuntimeError: it was computed and requires grad: a graph stays in its process.
    """
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
                           "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
                           "(e.g., putting it on the queue).")
    if getattr(t, "_info", NOTHING).hooks:
        warned.warn("Tensor has hooks, which are not sent to another process")
    bits = bits_of(t)
    if bits is not None:
        memory = t.detach()
        memory._k = with_bits(t._k, False, False)
        return marked, (memory.requires_grad_(t.requires_grad), bits.conj, bits.neg)
    if t.device.type != "cpu":
        return t.__reduce_ex__(2)
    sent = t
    if shared.in_worker and block_of(owner_of(t._data)) is None:
        if t._data.nbytes < shared.LARGE:
            return t.__reduce_ex__(2)
        sent = shared.rows(t, 1)[0].copy_(t.detach())
    storage = sent.untyped_storage()
    offset = address(sent._data) - address(storage._owner) if t._data.size else 0
    cls = None if type(t) is Tensor else type(t)  # it calls itself torch.Tensor, which pickle could not import without the alias
    return rebuild_tensor, (cls, storage, t._k.dtype.name, t._data.shape, sent._data.strides, offset, t.requires_grad, dict(t.__dict__))


def rebuild_tensor(cls: Any, storage: UntypedStorage, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], offset: int,
                   requires_grad: bool, state: Keywords) -> Tensor:
    """The tensor that was sent."""
    d = DType.by_name[dtype]
    cls = cls or Tensor
    t: Any = object.__new__(cls)
    t._data = np.ndarray(shape, d.np, storage._owner, offset, strides)
    t._k = _kind_for(cls, kind(d, CPU))
    t._node, t._v, t._base = LEAF if requires_grad else None, None, None
    t.__dict__.update(state)
    return t


def init_reductions() -> None:
    """Has Python's queues and pipes send tensors this way."""
    for cls in (Tensor, Parameter, Buffer):
        ForkingPickler.register(cls, reduce_tensor)
    ForkingPickler.register(UntypedStorage, reduce_storage)
    ForkingPickler.register(TypedStorage, reduce_typed_storage)
    ForkingPickler.register(Block, reduce_block)


_absences(__name__)
