"""Reverse mode under transforms: where the inputs of a differentiated function begin on the tape, and carrying cotangents back to them.

One tape serves all nested transforms. An input begins anew at an `Input` entry, whose edge leads on to the history it had outside;
asking the engine for the gradient at that entry, and at no other, is what keeps the levels of nested derivatives apart. Inside vmap
the tape sees whole batches, so the inputs are expanded to a batch per active vmap level first.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

import numpy as np

from autograd_tape.engine import Engine
from autograd_tape.errors import AutogradError
from autograd_tape.executors import executor_for
from autograd_tape.modes import GradMode, _mode, grad_mode
from autograd_tape.node import TapeEntry, edge_of
from autograd_tape.tensor import LEAF, TensorRef, buffer_of, next_id

from .._tensor import Tensor, frontend
from .._memory.bits import values
from ..autograd.engine import runs_on_tensors
from ._batched import BatchedTensor
from ._levels import Level, state, transforming, vmap_levels
from ._whole import hide, innermost, levels_of, logical, physical, shadow


class Input(TapeEntry):
    """Where an input of a differentiated function begins on the tape. Its gradient is that of what it was outside."""

    __slots__ = ()
    op = "input"
    saved = ()
    meta = None

    def raw(self, grad: object, F: object) -> Sequence[Any]:
        """The gradient itself."""
        return [grad]

    recorded = raw


def begin(x: Tensor, connected: bool) -> Any:
    """A tensor that stands for `x` and begins at an `Input` entry; `connected` to the history of `x`, or without any."""
    entry = Input()
    entry.edges = (edge_of(x) if connected else None,)
    entry.id = next_id()
    entry.meta = None
    return shadow(x, entry)


def reaches_outside(outputs: Sequence[Any], own: Sequence[Any]) -> bool:
    """Whether more than the inputs `own` lies behind any of these tensors: a leaf, or an input of a function differentiated further out."""
    start = min([x._node.id for x in own], default=0)
    seen: set[int] = set()
    stack = [t._node if t._node is not LEAF else t for t in outputs if t._node is not None]
    while stack:
        edge = stack.pop()
        if edge._tag == 1:
            return True
        entry = edge.entry if edge._tag == 2 else edge
        if id(entry) not in seen:
            seen.add(id(entry))
            if entry.__class__ is Input and entry.id < start:
                return True
            stack += [e for e in entry.edges if e is not None]
    return False


def _key(t: Tensor) -> tuple[TapeEntry, int]:
    edge = edge_of(t)
    return edge if edge._tag == 1 else (edge.entry, edge.nr) if edge._tag == 2 else (edge, 0)


def pull(outputs: Sequence[Any], cotangents: Sequence[Any], inputs: Sequence[Any], *, create_graph: bool) -> list[Any]:
    """Cotangents of `outputs`, which are whole batches, carried back to `inputs`; None for an input that nothing led to.

    Args:
        create_graph: record what is done with cotangents. Otherwise the results have no history.
    """
    roots = [(o, c) for o, c in zip(outputs, cotangents) if o._node is not None and c is not None]
    if not roots:
        return [None] * len(inputs)
    keys = [_key(i) for i in inputs]
    # On tensors where what is done with them matters: to the tape, to another transform, or to a mode.
    tensors = create_graph or transforming() or runs_on_tensors()
    F = frontend if tensors else executor_for(roots[0][0]._k.device).F
    walk = Engine(F, create_graph=tensors, retain_graph=True, capture=keys, wrap=frontend.wrap)
    before = grad_mode()
    _mode.set(GradMode.ENABLED if create_graph else GradMode.DISABLED)
    try:
        walk.run([(o if o._node is LEAF else o._node, c if tensors else values(c)) for o, c in roots])
    except AutogradError as error:
        raise error.as_builtin() from None
    finally:
        _mode.set(before)
    found: list[Any] = []
    for key, x in zip(keys, inputs):
        g = walk.captured.get(key)
        if g is not None and not isinstance(g, TensorRef):
            array = buffer_of(g, x._data.dtype)
            g = frontend.wrap(array if array.shape == x._data.shape else np.broadcast_to(array, x._data.shape), x._k)
        found.append(g)
    return found


class Differentiated:
    """A function called on inputs that begin on the tape, and what it returned: what vjp, grad and jacrev share.

    Args:
        inputs: the tensors to differentiate with respect to.
    """

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        for x in inputs:
            if not (x._k.dtype.is_floating_point or x._k.dtype.is_complex):
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.levels: list[Level] = vmap_levels()
        self.recording = grad_mode() is GradMode.ENABLED
        whole = [physical(x, self.levels) for x in inputs]
        self.whole = [begin(x, True) for x in whole]
        self.begun = [shadow(x, x._node) for x in self.whole]  # in-place operations may give the inputs another history
        self.inputs = [logical(x, self.levels) for x in self.whole]
        self.outputs: list[Tensor] = []
        self.reaches = self.connected = False

    def returned(self, outputs: Sequence[Tensor]) -> list[Tensor]:
        """Notes the outputs; gives them as they are to the caller: without a history that leads to the inputs alone."""
        self.outputs = [physical(o, self.levels) for o in outputs]
        self.reaches = reaches_outside(self.outputs, self.begun)
        self.connected = self.recording and self.reaches
        return [o if self.connected or o._node is None else shadow(o) for o in outputs]

    def pulled(self, cotangents: Sequence[Tensor]) -> list[Tensor]:
        """Cotangents of the outputs carried back to the inputs, zeros for one that nothing led to."""
        # Cotangents may be examples of a vmap entered later: what is done here to their dimensions takes place below it.
        given = [physical(c, self.levels) for c in cotangents]
        create_graph = grad_mode() is GradMode.ENABLED and (self.reaches or any(c._node is not None for c in given))
        found = pull(self.outputs, given, self.begun, create_graph=create_graph)
        return [logical(frontend.zeros_like(x.detach()) if g is None else g, self.levels) for g, x in zip(found, self.begun)]


# -- autograd.grad inside transforms ------------------------------------------------------------------------------------------


def grad_under_transforms(outputs: Sequence[Tensor], inputs: Sequence[Tensor], given: Sequence[Tensor | None],
                          create_graph: bool) -> list[Any] | None:
    """`autograd.grad` of tensors that may be examples of a vmap or have tangents; None where no transform is active."""
    if not state.stack:
        return None
    found_levels = levels_of((list(outputs), list(inputs)))
    levels = [level for level in state.stack if level in found_levels]
    roots: list[Any] = []
    cotangents: list[Any] = []
    for o, c in zip(outputs, given):
        if o._node is None:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if c is None:
            if o.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            c = frontend.ones_like(o.detach())
        elif c.shape != o.shape:
            raise RuntimeError(f"Mismatch in shape: grad_output[{len(roots)}] has a shape of {c.shape} and output[{len(roots)}] has a "
                               f"shape of {o.shape}.")
        roots.append(physical(o, levels))
        cotangents.append(physical(c, levels))
    for x in inputs:
        if x._node is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    found = pull(roots, cotangents, [innermost(x) for x in inputs], create_graph=create_graph)
    return [None if g is None else _as_example(g, x) for g, x in zip(found, inputs)]


def _as_example(g: object, like: object) -> Any:
    """The gradient of the whole batch behind `like` as an example."""
    if not isinstance(like, BatchedTensor):
        return g
    return hide(like._level, _as_example(g, like._value), like._bdim)


__all__ = ["Differentiated", "Input", "begin", "grad_under_transforms", "pull", "reaches_outside"]
