"""In-place updates and views: whose history changes, and how.

An in-place operation on a view changes its base. The operation's entry is wrapped in a `CopySlices` entry, which becomes the
history of the base; then every live view of the base gets its history anew from the base. This holds for the tensors of every front
end; what a front end knows of its own tensors (that the memory of some holds conjugates, say) it tells by `Frontend.bits_of` and
`Frontend.restored`. Messages are torch's.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

import numpy as np

from . import warned
from .annotations import Functions
from .dtypes import Kind
from .errors import AutogradError
from .held import settle
from .modes import GradMode, active_tapes, grad_mode, keep_on_tapes
from .node import Edge, NoGradView, TapeEntry, edge_of, freed
from .ops import Record, get_record
from .functions.nodes import node_class
from .strided import storage_offset
from .strided import address as address_of
from .tensor import LEAF, NOTHING, Info, TensorRef, above, info_of, leaf_node, next_id
from .version import Version

if TYPE_CHECKING:
    from .frontend import Frontend


class CopySlices(TapeEntry):
    """The history of a base after one of its views was changed in place.

    Its gradient is that of the base with the view's region replaced by what the in-place operation makes of it.
    """

    __slots__ = ()
    op = "copy_slices"

    def name(self) -> str:
        """The node's name, which torch gives in C++."""
        return "torch::autograd::CopySlices"

    # saved holds the operation's own entry, so that freeing it frees what that one saved
    self_nr: int             # which of its edges is the changed tensor, -1 for none
    geometry: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], int, np.dtype]
    bits: Any = None         # what the view's memory must go through to become its elements, see `Frontend.bits_of`

    @property
    def fn(self) -> TapeEntry:
        """The operation's own entry."""
        if self.saved is None:
            raise freed(self)
        return self.saved[0]

    def raw(self, grad: Any, F: Functions) -> Sequence[Any]:
        """On buffers."""
        base_shape, base_strides, shape, strides, offset, dtype = self.geometry
        if not isinstance(grad, (np.ndarray, np.generic)):  # whose memory is in no one place
            tensors = self.front_end
            return [g if g is None else g._data for g in self.recorded(tensors.wrap(grad), tensors)]
        if grad.size and any([s == 0 and n > 1 for s, n in zip((*base_strides, *strides), (*base_shape, *shape))]):
            raise AutogradError(ONE_PLACE, expected="a place for each element", found="several in one place",
                                remedy="copy it first")
        total = empty_strided(base_shape, base_strides, grad.dtype)
        np.copyto(total, grad)
        view_dtype = total.dtype if (total.dtype.kind == "c") == (dtype.kind == "c") else dtype
        region: np.ndarray = np.ndarray(shape, view_dtype, memory_of(total), offset, strides)
        bits = self.bits
        grads = list(self.fn.raw(region.copy() if bits is None else bits(region), F))
        if self.self_nr >= 0:
            own = grads.pop(self.self_nr)
            region[...] = 0 if own is None else own if bits is None else bits(own)
        else:
            region[...] = 0
        return [total if self.edges[0] is not None else None, *grads]

    def recorded(self, grad: Any, F: Functions) -> Sequence[Any]:
        """On tensors."""
        _, base_strides, shape, strides, offset, dtype = self.geometry
        item = dtype.itemsize
        total = grad.clone()
        if total._data.strides != base_strides:
            total = F.made_like(grad, F.wrap(empty_strided(total._data.shape, base_strides, total._data.dtype), grad._k))
            total.copy_(grad)
        region = in_kind(F, total, dtype).as_strided(shape, tuple(s // item for s in strides), offset // item)
        bits = self.bits
        grads = list(self.fn.recorded(region.clone() if bits is None else bits(region, F), F))
        own = grads.pop(self.self_nr) if self.self_nr >= 0 else None
        if own is None:
            region.zero_()
        else:
            region.copy_(own if bits is None else bits(own, F))
        return [total, *grads]


def in_kind(F: Functions, base: TensorRef, dtype: np.dtype) -> Any:
    """`base`, or a view of it as real or complex numbers where `dtype`, that of another view of it, is the other of the two."""
    if base._k.dtype.is_complex == (dtype.kind == "c"):
        return base
    if dtype.kind != "c":
        return F.view_as_real(base)
    return F.view_as_complex(F.as_strided(base, (base._data.size // 2, 2), (2, 1)))


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
        span += (n - 1) * abs(s)
    flat = np.empty(span // item, dtype)
    return np.ndarray(shape, dtype, flat, -lowest(shape, strides), strides)


def lowest(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Where the lowest element of a layout lies, seen from its first one: not above it."""
    return sum([(n - 1) * s for n, s in zip(shape, strides) if s < 0 < n])


def overlap(a: np.ndarray, b: np.ndarray, whole: bool = False) -> bool:
    """Whether two arrays share memory and are not the same region in the same layout (or are, where `whole` asks for that, too). Only
    dense arrays are looked at, as in torch: of others it is too hard to say."""
    if not np.may_share_memory(a, b) or not a.size or not b.size:
        return False
    if not is_dense(a.shape, a.strides, a.itemsize) or not is_dense(b.shape, b.strides, b.itemsize):
        return False
    return whole or a.nbytes != b.nbytes or address_of(a) != address_of(b) or a.strides != b.strides


def same_region(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are the same elements of the same memory."""
    if a is b or a.shape != b.shape or a.strides != b.strides or a.dtype != b.dtype:
        return a is b
    return (a.__class__ is not np.ndarray or not a.size or np.may_share_memory(a, b)) and address_of(a) == address_of(b)


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


def in_place_name(node: object) -> str:
    """How messages name a node: `SplitWithSizes` for `SplitWithSizesBackward0`."""
    name = type(node).__name__
    return name[: name.rindex("Backward")] if "Backward" in name else name


ONE_PLACE = ("unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the "
             "tensor before performing the operation.")
_BOTH = (" Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and "
         "the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or both outside (if you want the "
         "inplace to be tracked).")
MULTI_VIEW = (" This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
              "modified inplace. You should replace the inplace operation by an out-of-place one.")
IN_CUSTOM_FUNCTION = (" This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
                      "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
                      "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.")
NO_GRAD, INFERENCE = "no_grad", "inference_mode"


class OneOfSeveral(Info):
    """What views have that were made together."""

    creation = MULTI_VIEW


TOGETHER = OneOfSeveral()
TOGETHER.shared = True


class MadeUnrecorded(Info):
    """What views have that were made while nothing was recorded."""

    creation = NO_GRAD


def link_view(view: TensorRef, source: TensorRef, multi: bool = False) -> None:
    """Makes `view` share version counter and base of `source`; how it was made decides whether it may be changed in place. `multi`
    where others were made with it."""
    view._v = version = Version.of(source)
    view._base = source if source._base is None else source._base
    mode = grad_mode()
    if mode is GradMode.ENABLED:
        version.add_view(view)
        if multi:
            mark(view, MULTI_VIEW)
            watch_history(view._base)
    elif mode is GradMode.INFERENCE and not source._k.inference:
        version.add_view(view)
        mark(view, INFERENCE)
        unwatched_view(view)
    else:
        unwatched_view(view)


def unwatched_view(view: TensorRef) -> None:
    """A view made without recording requires grad where its base does, though no gradient goes through it."""
    view._node = None
    base: Any = view._base
    if base._node is not None and not view._k.inference:
        view._node = NoGradView()
        watch_history(base)
        if grad_mode() is GradMode.DISABLED:
            base._v.add_view(view)
            view._info = MadeUnrecorded()


def mark(view: TensorRef, creation: str) -> None:
    """Notes how a view was made, which decides whether it may be changed in place."""
    info_of(view).creation = creation


def creation_of(view: TensorRef, origin: object = None) -> str | None:
    """How a view was made, None where nothing is special about it; `origin` is the history of its base, where that has another by now."""
    found = getattr(view, "_info", NOTHING).creation
    if found is None and view._v is not None and not any([ref() is view for ref in view._v.views]):
        return NO_GRAD  # views made while recording are watched
    return _inherited(view._node, view._base._node if origin is None else origin) if found is None else found  # type: ignore[union-attr]


def _inherited(edge: Edge | None, origin: object) -> str | None:
    """What a view takes over from the one it is a view of, however many views lie between: MULTI_VIEW or NO_GRAD."""
    while edge is not None and edge is not LEAF and edge is not origin and edge._tag != 1:
        entry = edge.entry if edge._tag == 2 else edge
        if entry.__class__ is NoGradView:
            return None if entry.recorded_view else NO_GRAD
        if getattr(entry.op, "family", None) not in ("view", "view?"):
            return None
        if edge._tag == 2:
            return MULTI_VIEW
        edge = entry.edges[0]
    return creation_of(edge) if edge is not None and edge is not LEAF and edge._tag == 1 and edge._base is not None else None


def _unrecorded(edge: Edge | None) -> bool:
    """Whether a view, or one that it was made of, was made before its base was told to require grad."""
    while edge is not None and edge._tag != 1:
        entry = edge.entry if edge._tag == 2 else edge
        if entry.__class__ is NoGradView:
            return True
        if getattr(entry.op, "family", None) not in ("view", "view?"):
            return False
        edge = entry.edges[0]
    return False


def refusal(view: TensorRef, creation: str, indirect: bool = False) -> str:
    """Why a view must not be changed in place; `indirect` where its base was."""
    changed = "its base or another view of its base has been" if indirect else "is being"
    node = view._node
    if node is None or node is LEAF or node.__class__ is NoGradView:
        what = ""
    else:
        what = f"Output {node.nr if node._tag == 2 else 0} of {in_place_name(node.entry if node._tag == 2 else node)} is a view"
    if creation in (NO_GRAD, INFERENCE):
        mode, now = ("no_grad mode", "with grad mode enabled") if creation is NO_GRAD else ("inference mode", "in normal mode")
        what = f"{what} of a view which" if what else "A view"
        return f"{what} was created in {mode} and {changed} modified inplace {now}.{_BOTH.format(block=creation)}"
    if not what:
        return f"A view was created in no_grad mode and {changed} modified inplace with grad mode enabled.{creation}"
    return f"{what} and {changed} modified inplace.{creation}"


def check_inplace(target: TensorRef, others: Sequence[TensorRef] = ()) -> None:
    """Raises what torch raises where `target` must not be changed in place by an operation that also takes `others`."""
    mode = grad_mode()
    if target._k.inference and mode is not GradMode.INFERENCE:
        raise AutogradError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
                            "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
                            expected="a normal tensor, or inference mode", found="a tensor made in inference mode", remedy="make a copy")
    if mode is not GradMode.ENABLED:
        return
    base = target._base
    if base is None:
        if target._node is LEAF:
            raise AutogradError("a leaf Variable that requires grad is being used in an in-place operation.",
                                expected="a computed tensor, or a leaf that does not require grad", found="a leaf that does",
                                remedy="use the out-of-place operation, or update it under no_grad()")
    elif target._node is not None or base._node is not None or any([t._node is not None for t in others]):
        if target._node.__class__ is Poisoned:
            raise AutogradError(target._node.direct)
        creation = creation_of(target)
        if creation is not None:
            raise AutogradError(refusal(target, creation))
        if base._node is LEAF or base._node is None and target._node is not None:
            raise AutogradError("a view of a leaf Variable that requires grad is being used in an in-place operation.",
                                expected="a view of a computed tensor", found="a view of a leaf that requires grad",
                                remedy="use the out-of-place operation, or update it under no_grad()")
    for t in others:
        if t._node.__class__ is Poisoned:
            raise AutogradError(t._node.forbids)
    whole = target._data if base is None else base._data
    if whole is not None and not whole.flags.c_contiguous and any([s % whole.itemsize for s in whole.strides]) and (
            base is not None or target._v is not None):
        raise AutogradError("The history of views of memory whose steps are no multiples of its elements' size cannot be kept",
                            expected=f"steps that are multiples of {whole.itemsize} bytes", found=str(whole.strides),
                            remedy="copy the array first")


def is_single(data: np.ndarray) -> bool:
    """Whether each element has a place of its own, as far as strides of zero tell."""
    return 0 not in data.strides or not data.size or not any([s == 0 and n > 1 for s, n in zip(data.strides, data.shape)])


def check_single(target: TensorRef) -> None:
    """Raises where several elements of `target` are one number in memory."""
    if not is_single(target._data):
        raise AutogradError(ONE_PLACE, expected="a place for each element", found="several in one place",
                                remedy="copy it first")


def check_memory(rec: Record, target: TensorRef, others: Sequence[TensorRef]) -> None:
    """Raises where `target`, about to be changed by an operation, shares memory with itself or with one of `others` that its record's
    `may_share` does not let it share."""
    may = rec.field("may_share") or ""
    if "same" in may and others and same_region(target._data, others[0]._data):
        return
    if "itself" not in may or "others" in may and others:
        check_single(target)
    elif rec.field("warns_expanded") and not is_single(target._data):
        name, written = rec.field("warns_expanded")
        warned.warn(f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This "
                    f"also applies to advanced indexing e.g. {written}", UserWarning)
    if "others" in may:
        return
    check_apart(target, others, "nothing" in may)


def check_apart(target: TensorRef, others: Sequence[TensorRef], whole: bool) -> None:
    """Raises where `target` lies in the memory of one of `others` in part; where `whole`, also where it is that."""
    for other in others:
        arrays = (target._data, other._data)
        if whole and other is target or all([isinstance(x, np.ndarray) for x in arrays]) and overlap(*arrays, whole):
            raise AutogradError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                                "memory location. Please clone() the tensor before performing the operation.",
                                expected="memory that the inputs do not lie in", found="memory that they share in part",
                                remedy="copy one of them first")


def set_leaf(t: TensorRef, requires_grad: bool) -> None:
    """Makes a leaf require grad, or not; its views do what it does.

    Raises:
        GradientDTypeError: it holds integers or booleans.
        AutogradError: it was made in inference mode, and that is over.
    """
    node: Any = leaf_node(t._k.dtype, requires_grad, "only Tensors of floating point and complex dtype can require gradients")
    if requires_grad and t._k.inference and grad_mode() is not GradMode.INFERENCE:
        raise AutogradError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
                            remedy="make a copy first")
    settle()
    base = t._base
    if node is None and base is not None and base._node is not None:
        node = NoGradView(creation_of(t) is None)
    t._node = node
    if base is not None and requires_grad:
        watch_history(base)
    tell_views(t)


def tell_views(base: TensorRef) -> None:
    """Has the views of a leaf require grad where it does now."""
    version = base._v
    if version is not None and version.views:
        for view in version.live_views():
            if view._base is base and (view._node is None or view._node.blank):
                view._node = None if base._node is None or view._k.inference else NoGradView(creation_of(view) is None)
        watch_history(base)


class NotImplementedNode(TapeEntry):
    """The history of a tensor that `set_` gave other memory, which no gradient can come through."""

    __slots__ = ()
    op = "set_"
    saved = ()
    meta = None
    frees = False

    def __init__(self, *inputs: TensorRef) -> None:
        self.id, self.edges = next_id(), tuple([edge_of(t) for t in inputs])

    def name(self) -> str:
        """As torch calls it."""
        return "torch::autograd::NotImplemented"

    def raw(self, grad: object, F: Functions) -> Sequence[Any]:
        """Raises."""
        raise AutogradError("derivative for set_ is not implemented")

    recorded = raw


class Poisoned(TapeEntry):
    """The history of a view that lost it: its base was changed, and how the view was made forbids to make it anew."""

    __slots__ = ("forbids", "direct", "nr", "bare")
    op = "poisoned"
    forbids: str  # what using the view raises
    direct: str   # what changing it in place raises
    nr: int
    bare: bool    # whether the view had no history before either
    saved = ()
    meta = None
    frees = False

    def __init__(self, view: TensorRef, creation: str) -> None:
        self.forbids, self.direct = refusal(view, creation, indirect=True), refusal(view, creation)
        self.nr = getattr(view._node, "nr", 0)
        self.bare = view._node is None or view._node.__class__ is NoGradView
        self.id, self.edges = next_id(), (edge_of(view._base),)  # type: ignore[arg-type]  # a view has a base

    def raw(self, grad: object, F: Functions) -> Sequence[Any]:
        """Raises."""
        raise AutogradError(self.forbids)

    recorded = raw

    def name(self) -> str:
        """What printing shows."""
        return "Invalid"


def move_retained_grad(target: TensorRef, node: Any) -> None:
    """Makes `retain_grad` of a tensor follow it to the history it is about to get."""
    old = target._node
    if not getattr(target, "_info", NOTHING).retains_grad or old is None or old is LEAF:
        return
    entry, nr = (old.entry, old.nr) if old._tag == 2 else (old, 0)
    keep = entry.hooks.retain.pop(nr, None) if entry.hooks is not None else None
    if keep is not None:
        entry, nr = (node.entry, node.nr) if node._tag == 2 else (node, 0)
        entry._hooks().retain[nr] = keep


def rebase(frontend: Frontend, target: TensorRef, node: TapeEntry, self_nr: int | None = None) -> None:
    """Makes `node`, the entry of an in-place operation on `target`, part of the history of `target` and of its base.

    `self_nr` says which of the node's edges is `target`, -1 for none; it is looked up for operations of records.
    """
    base = target._base
    if base is None:
        move_retained_grad(target, node)
        origin, target._node = target._node, node
        refresh_views(frontend, target, origin)
        return
    data, whole = target._data, base._data
    entry = CopySlices()
    # The operation's edge to the changed view gives way to the base's own history: CopySlices fills the region itself.
    if self_nr is None:
        params = [p.name for p in node.op.differentiable_params] if not isinstance(node.op, str) and node.op is not None else []
        first = node.op.params[0].name if params else ""
        self_nr = params.index(first) if first in params else -1
    entry.self_nr = self_nr
    edges = list(node.edges)
    if self_nr >= 0:
        edges.pop(self_nr)
        # The operation must compute the gradient of the region, whether or not the view itself had a history.
        whole_edges = list(node.edges)
        if whole_edges[self_nr] is None and base._node is not None:
            whole_edges[self_nr] = edge_of(base)
            node.edges = tuple(whole_edges)
    entry.edges = (edge_of(base), *edges)
    entry.saved, entry.meta = (node,), None
    entry.geometry = (whole.shape, whole.strides, data.shape, data.strides, _offset(target, base), data.dtype)
    if target._k.special is not None:
        entry.bits = frontend.bits_of(target)
    before = base.id if active_tapes() else 0
    entry.id = next_id()
    move_retained_grad(base, entry)
    origin, base._node = base._node, entry
    if before:
        keep_on_tapes(entry, (base, target), (base,), {}, (before, node.id))
    refresh_views(frontend, base, origin)


def _as_strided_entry(base: TensorRef, view: TensorRef) -> TapeEntry:
    """The history of a view as one of `base`, wherever its memory is by now."""
    rec = get_record("as_strided_view")
    made: Any = node_class(rec)
    for special in above.entry_classes:
        made = special(made, [base], [view]) or made
    node: TapeEntry = made()
    node.id, node.edges, node.meta = next_id(), (edge_of(base),), None
    node.saved = (*_geometry(view), _geometry(base))
    if active_tapes():
        keep_on_tapes(node, (base,), (view,), dict(zip([p.name for p in rec.params[1:]], node.saved)), None, (node.id,))
    return node


def _geometry(t: Any) -> tuple[Sequence[int], Sequence[int], int]:
    """(shape, strides, offset) in elements."""
    data = t._data
    return data.shape, tuple([s // data.itemsize for s in data.strides]), storage_offset(data)


def poison(view: TensorRef, creation: str) -> None:
    """Takes its history from a view. A kind of its own keeps the view off the quiet path: whatever records an operation on it raises."""
    view._node, view._k = Poisoned(view, creation), Kind(view._k.dtype, view._k.device, view._k.special)


class _History:
    """Hears of the next change of the memory of a tensor, with which views of it lose their history (those made together, or without
    recording), or get one of the tensor as it has become (detached, or told to require grad)."""

    __slots__ = ("base",)

    def __init__(self, base: TensorRef) -> None:
        self.base = weakref.ref(base)

    def __call__(self) -> bool:
        base: Any = self.base()
        if base is None:
            return False
        for view in base._v.live_views():
            node = view._node if view._base is base else None
            if node is None or node is LEAF and base._node is None or node.__class__ is Poisoned:
                continue
            creation = creation_of(view)
            if creation is not None:
                poison(view, creation)
            elif base._node is None or node is LEAF or _unrecorded(node):
                view._node = _as_strided_entry(base, view)
        return base._node is None  # views made later may have a history to lose, too


def watch_history(base: Any) -> None:
    """Sees to it that the next change of the memory of `base` takes the history from those of its views that cannot keep it."""
    version: Version = base._v.memory
    if not version.watched or not any([w.__class__ is _History and w.base() is base for w in version.watchers]):
        version.watch(_History(base))


def _offset(view: TensorRef, base: TensorRef) -> int:
    """Where a view starts in the memory of its base, in bytes."""
    here, whole = view._data, base._data
    return (storage_offset(here) * here.itemsize - storage_offset(whole) * whole.itemsize) - lowest(whole.shape, whole.strides)


def refresh_views(frontend: Frontend, base: TensorRef, origin: object) -> None:
    """Gives all live views of `base` a history that starts at its present one; `origin` is the one before."""
    version = base._v
    if version is None or not version.views:
        return
    for view in version.live_views():
        if view._base is not base or view._node.__class__ is Poisoned:
            continue
        creation = creation_of(view, origin)
        if creation is not None:
            poison(view, creation)
            continue
        bits = None if view._k.special is None else frontend.bits_of(view)
        if bits is None:
            node = _as_strided_entry(in_kind(frontend, base, view._data.dtype), view)
        else:
            fresh = base if same_region(view._data, base._data) else \
                frontend.as_strided(in_kind(frontend, base, view._data.dtype), *_geometry(view))
            node = frontend.restored(fresh, bits)._node
        move_retained_grad(view, node)
        view._node = node
    version.views = [ref for ref in version.views if ref() is not None]


__all__ = ["CopySlices", "check_inplace", "empty_strided", "is_dense", "rebase", "refresh_views"]


above.set_leaf = set_leaf
