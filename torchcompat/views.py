"""In-place updates and views: whose history changes, and how.

An in-place operation on a view changes its base. The operation's entry is wrapped in a `CopySlices` entry, which becomes the
history of the base; then every live view of the base gets its history anew from the base.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from autograd_tape.backward import freed
from autograd_tape.errors import AutogradError
from autograd_tape.tape import GradMode, OutputEdge, TapeEntry, edge_of, grad_mode, next_id
from autograd_tape.tensor import LEAF, TensorRef

from .storage import address_of


class CopySlices(TapeEntry):
    """The history of a base after one of its views was changed in place.

    Its gradient is that of the base with the view's region replaced by what the in-place operation makes of it.
    """

    __slots__ = ()
    op = "copy_slices"
    # saved holds the operation's own entry, so that freeing it frees what that one saved
    self_nr: int             # which of its edges is the changed tensor, -1 for none
    geometry: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], int, np.dtype]

    @property
    def fn(self) -> TapeEntry:
        """The operation's own entry."""
        if self.saved is None:
            raise freed(self)
        return self.saved[0]

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """On buffers."""
        base_shape, base_strides, shape, strides, offset, dtype = self.geometry
        total = empty_strided(base_shape, base_strides, grad.dtype)
        np.copyto(total, grad)
        region = np.ndarray(shape, total.dtype, memory_of(total), offset, strides)
        grads = list(self.fn.raw(region.copy(), F))
        if self.self_nr >= 0:
            own = grads.pop(self.self_nr)
            region[...] = 0 if own is None else own
        else:
            region[...] = 0
        return [total if self.edges[0] is not None else None, *grads]

    def recorded(self, grad: Any, F: Any) -> Sequence[Any]:
        """On tensors."""
        _, base_strides, shape, strides, offset, dtype = self.geometry
        item = dtype.itemsize
        total = grad.clone()
        if total._data.strides != base_strides:
            total = F.wrap(empty_strided(total._data.shape, base_strides, total._data.dtype), grad._k)
            total.copy_(grad)
        region = total.as_strided(shape, tuple(s // item for s in strides), offset // item)
        grads = list(self.fn.recorded(region.clone(), F))
        own = grads.pop(self.self_nr) if self.self_nr >= 0 else None
        if own is None:
            region.zero_()
        else:
            region.copy_(own)
        return [total, *grads]


def memory_of(array: np.ndarray) -> np.ndarray:
    """The flat memory of a dense array of ours, as an array whose buffer others can be laid over."""
    owner = array if array.base is None else array.base
    return owner


def empty_strided(shape: Sequence[int], strides: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """A new array with these strides (in bytes); row-major where they overlap."""
    item = np.dtype(dtype).itemsize
    span = item
    for n, s in zip(shape, strides):
        if n == 0:
            return np.empty(shape, dtype)
        span += (n - 1) * s
    flat = np.empty(span // item, dtype)
    return np.ndarray(shape, dtype, flat, 0, strides)


def is_dense(shape: Sequence[int], strides: Sequence[int], item: int) -> bool:
    """Whether a layout is non-overlapping and dense: a permutation of a contiguous one."""
    expected = item
    for stride, size in sorted((s, n) for s, n in zip(strides, shape) if n != 1):
        if size == 0:
            return True
        if stride != expected:
            return False
        expected *= size
    return True


def check_inplace(target: TensorRef, name: str = "") -> None:
    """Raises what torch raises where `target` must not be changed in place."""
    if grad_mode() is not GradMode.ENABLED:
        return
    base = target._base
    if base is not None:
        if base._node is LEAF:
            raise AutogradError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        creation = getattr(target, "_info", None)
        if creation and target._node is not None:
            message = creation.get("no_inplace")
            if message is not None:
                node = target._node
                nr = node.nr if node is not LEAF and node._tag == 2 else 0
                owner = target.creator
                where = f"Output {nr} of {type(owner).__name__} is a view and is being modified inplace." if owner is not None else \
                    "A view is being modified inplace."
                raise AutogradError(f"{where} {message}")
    elif target._node is LEAF:
        raise AutogradError("a leaf Variable that requires grad is being used in an in-place operation.")


MULTI_VIEW = ("This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
              "modified inplace. You should replace the inplace operation by an out-of-place one.")


def rebase(frontend: Any, target: Any, node: TapeEntry) -> None:
    """Makes `node`, the entry of an in-place operation on `target`, part of the history of `target` and of its base."""
    base = target._base
    if base is None:
        target._node = node
        refresh_views(frontend, target)
        return
    data, whole = target._data, base._data
    entry = CopySlices()
    # The operation's edge to the changed view gives way to the base's own history: CopySlices fills the region itself.
    params = [p.name for p in node.op.differentiable_params] if not isinstance(node.op, str) and node.op is not None else []
    first = node.op.params[0].name if params else ""
    entry.self_nr = params.index(first) if first in params else -1
    edges = list(node.edges)
    if entry.self_nr >= 0:
        edges.pop(entry.self_nr)
    # The operation must compute the gradient of the region, whether or not the view itself had a history.
    if entry.self_nr >= 0:
        whole_edges = list(node.edges)
        if whole_edges[entry.self_nr] is None and base._node is not None:
            whole_edges[entry.self_nr] = edge_of(base)
            node.edges = tuple(whole_edges)
    entry.edges = (edge_of(base), *edges)
    entry.saved, entry.meta = (node,), None
    entry.geometry = (whole.shape, whole.strides, data.shape, data.strides, address_of(data) - address_of(whole), whole.dtype)
    entry.id = next_id()  # type: ignore[assignment]
    base._node = entry
    refresh_views(frontend, base)


def refresh_views(frontend: Any, base: Any) -> None:
    """Gives all live views of `base` a history that starts at its present one."""
    version = base._v
    if version is None or len(version) == 1:
        return
    for ref in list(version[1:]):
        view = ref()
        if view is None or view._base is not base:
            continue
        item = view._data.itemsize
        fresh = frontend.as_strided(base, view._data.shape, tuple([s // item for s in view._data.strides]),
                                    view.storage_offset())
        view._node = fresh._node
    version[1:] = [r for r in version[1:] if r() is not None]


def link_detached(view: TensorRef, source: TensorRef) -> None:
    """Makes `view` share the version counter of `source`, as `detach` does, without being its view for autograd."""
    if source._v is None:
        source._v = [0]
    view._v = source._v


__all__ = ["CopySlices", "OutputEdge", "check_inplace", "empty_strided", "is_dense", "rebase", "refresh_views"]
