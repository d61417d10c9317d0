"""What an entry saved for its gradient, as objects that hooks can pack and unpack.

An entry saves plain tuples, which cost nothing to make and to read. Only where somebody looks (`_raw_saved_...`), or where hooks are
in effect, is there more: a `Packed` tuple, in which hooked items hold what the pack hook returned.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .annotations import Fn, Functions
from .errors import ArgumentError, AutogradError
from .modes import GradMode, _mode, grad_mode
from .node import Edge, OutputEdge, TapeEntry, edge_of, freed
from .tensor import TensorRef, next_id
from .version import Version, changes, number_of, severed_since


class _State(threading.local):
    hooks: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = ()
    disabled: str | None = None


state = _State()
"""This thread's default hooks, innermost last, and the message of the error that entering more of them raises."""


INFERENCE_SAVED = ("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
                   "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
                   "`torch.no_grad()` instead of `torch.inference_mode()`.")
OUTPUT = object()
"""The edge of an entry's own output."""


class LeafAlias(TapeEntry):
    """The history of a tensor that stands for a leaf, such as a leaf that was packed and unpacked."""

    __slots__ = ()

    def raw(self, grad: Any, F: Functions) -> Any:
        """The gradient itself."""
        return [grad]

    recorded = raw


def node_for(edge: Edge | None) -> Any:
    """What a tensor that stands for the one behind `edge` has as its `_node`."""
    if edge is None or edge._tag != 1:
        return edge
    node = LeafAlias()
    node.id, node.edges, node.saved, node.meta = next_id(), (edge,), (), None
    return node


class Item:
    """A hooked tensor: what the pack hook made of it, and the way back."""

    __slots__ = ("value", "unpack_hook", "edge")

    def __init__(self, tensor: TensorRef, edge: Any, pack: Fn, unpack: Fn) -> None:
        self.edge, self.unpack_hook = edge, unpack
        before, number = grad_mode(), number_of(tensor)
        _mode.set(GradMode.DISABLED)
        try:
            self.value = pack(tensor)
        finally:
            _mode.set(before)
        if number_of(tensor) != number:
            raise AutogradError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
                                "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
                                "you need to perform in-place operations on the input to a pack hook.").as_builtin()

    def unpack(self) -> TensorRef:
        """The tensor that the unpack hook gives back."""
        before = grad_mode()
        _mode.set(GradMode.DISABLED)
        try:
            result = self.unpack_hook(self.value)
        finally:
            _mode.set(before)
        if not isinstance(result, TensorRef):
            raise ArgumentError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                                f"{type(result).__name__}",
                                expected="Tensor", found=type(result).__name__, remedy="return a tensor").as_builtin()
        return result


class Packed:
    """The saved items of an entry of which some are hooked. It stands where the plain tuple stood."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = list(items)

    def __iter__(self) -> Any:
        return iter(self.items)

    def unpack(self, entry: TapeEntry) -> tuple[Any, ...]:
        """The plain tuple."""
        out = list(self.items)
        for at, item in enumerate(self.items):
            if item.__class__ is Item:
                t = item.unpack()
                if item.edge is OUTPUT:
                    out[at:at + 4] = t._data, Version.new(), 0, t._k
                else:
                    out[at], out[at + 1] = _with_history(t, item.edge), number_of(t)
            elif item.__class__ is tuple and item and item[0].__class__ is tuple and any([x.__class__ is Item for x in item[0]]):
                tensors = tuple(_with_history(x.unpack(), x.edge) if x.__class__ is Item else x for x in item[0])
                out[at] = (tensors, [number_of(t) if isinstance(x, Item) else v for t, x, v in zip(tensors, item[0], item[1])])
        return tuple(out)


def _with_history(tensor: TensorRef, edge: Edge | None) -> TensorRef:
    """Another tensor over the same memory, with the history that the saved one had."""
    if edge is None:
        return tensor
    result = object.__new__(type(tensor))
    result._data, result._k, result._v, result._base, result._node = tensor._data, tensor._k, tensor._v, None, node_for(edge)
    return result


def _layout(entry: TapeEntry) -> tuple[tuple[str, str, int, int], ...]:
    return getattr(type(entry), "saved_layout", ())


def pack_entry(entry: TapeEntry) -> None:
    """Gives what a new entry saved to the innermost default hooks of this thread."""
    if not state.hooks or not entry.saved:
        return
    pack, unpack = state.hooks[-1]
    for _, kind, at, nr in _layout(entry):
        if kind == "list":
            for sub in range(len(entry.saved[at][0] if entry.saved.__class__ is tuple else entry.saved.items[at][0])):
                pack_slot(entry, kind, at, nr, sub, pack, unpack, detached=False)
        elif kind in ("tensor", "output"):
            pack_slot(entry, kind, at, nr, 0, pack, unpack, detached=False)


def pack_slot(entry: TapeEntry, kind: str, at: int, nr: int, sub: int, pack: Any, unpack: Any, detached: bool = True) -> None:
    """Replaces one saved tensor of an entry by what `pack` makes of it."""
    items = entry.saved.items if entry.saved.__class__ is Packed else list(entry.saved)
    item = items[at]
    if kind == "list":
        tensors = list(item[0])
        tensors[sub] = Item(_bare(tensors[sub]) if detached else tensors[sub], edge_of(tensors[sub]), pack, unpack)
        items[at] = (tuple(tensors), item[1])
    elif kind == "output":
        if item is None:  # not needed
            return
        items[at] = Item(TapeEntry.front_end.bare_output(*items[at:at + 4]), OUTPUT, pack, unpack)
    elif isinstance(item, TensorRef):
        items[at] = Item(_bare(item) if detached else item, edge_of(item), pack, unpack)
    else:
        return
    packed = Packed(())
    packed.items = items
    entry.saved = packed


def _bare(t: TensorRef) -> TensorRef:
    """The same memory and version counter without history."""
    result = object.__new__(type(t))
    result._data, result._k, result._v, result._base, result._node = t._data, t._k, Version.of(t), None, None
    return result


class SavedTensor:
    """A tensor that an entry saved, seen from outside: the place to register a pair of hooks for it."""

    __slots__ = ("_entry", "_place", "__weakref__")

    _entry: weakref.ref[TapeEntry]
    _place: tuple[Any, ...]

    def __new__(cls, *args: object, **kwargs: object) -> "SavedTensor":
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def _of(cls, entry: TapeEntry, *place: object) -> "SavedTensor":
        self = object.__new__(cls)
        self._entry, self._place = weakref.ref(entry), place
        return self

    def _live(self) -> TapeEntry:
        entry = self._entry()
        if entry is None or entry.saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when "
                "you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second "
                "time or if you need to access saved variables after calling backward.")
        return entry

    def register_hooks(self, pack_hook: Fn | None = None, unpack_hook: Fn | None = None) -> None:
        """`pack_hook(tensor)` is called now; backward gets what `unpack_hook` makes of its result.

        Raises:
            TypeError: a hook cannot be called, or does not take one argument.
            RuntimeError: the tensor has hooks already, or was freed, or `pack_hook` changed it in place.
        """
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("register_hooks(): incompatible function arguments. The following argument types are supported:\n    1. (self: "
                            "torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\n"
                            f"Invoked with: {self!r}, {pack_hook!r}, {unpack_hook!r}")
        entry = self._live()
        if self._hooked(entry):
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks "
                               "is allowed at a time.")
        self._pack(entry, pack_hook, unpack_hook)

    def _hooked(self, entry: TapeEntry) -> bool:
        kind, at, _, sub = self._place
        item = entry.saved.items[at] if entry.saved.__class__ is Packed else entry.saved[at]
        if item is None and kind != "output":
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        return (item[0][sub] if kind == "list" else item).__class__ is Item

    def _pack(self, entry: TapeEntry, pack: Fn, unpack: Fn) -> None:
        kind, at, nr, sub = self._place
        pack_slot(entry, kind, at, nr, sub, pack, unpack)

    def __repr__(self) -> str:
        return f"<torch._C._autograd.SavedTensor object at {hex(id(self))}>"


def raw_saved(entry: TapeEntry, kind: str, at: int, nr: int) -> Any:
    """The `SavedTensor` of one item of an entry; a tuple of them for a list."""
    if kind == "list" and entry.saved is not None:
        item = entry.saved.items[at] if entry.saved.__class__ is Packed else entry.saved[at]
        return tuple(SavedTensor._of(entry, kind, at, nr, i) for i in range(len(item[0])))
    return SavedTensor._of(entry, kind, at, nr, 0)


class SavedVariable(SavedTensor):
    """A tensor that a hand-written operation saved: input, output, or any other."""

    __slots__ = ("tensor", "version", "nr", "item")

    tensor: Any
    version: int
    nr: int | None
    item: Item | None

    @classmethod
    def _save(cls, entry: TapeEntry, tensor: TensorRef | None, nr: int | None) -> "SavedVariable":
        """Saves `tensor`, output `nr` of `entry`, or none of its outputs."""
        self = object.__new__(cls)
        self._entry, self._place = weakref.ref(entry), ()
        if tensor is None:
            self.tensor, self.version, self.nr, self.item = None, 0, None, None
            return self
        # An output is saved without its history, which is this entry: they would hold each other.
        self.tensor, self.version, self.nr, self.item = tensor if nr is None else _bare(tensor), Version.of(tensor).number, nr, None
        if state.hooks:
            self._pack(entry, *state.hooks[-1], detached=False)
        return self

    def _hooked(self, entry: TapeEntry) -> bool:
        if self.tensor is None and self.item is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        return self.item is not None

    def _pack(self, entry: TapeEntry, pack: Fn, unpack: Fn, detached: bool = True) -> None:
        t = self.tensor
        self.item = Item(_bare(t) if detached else t, edge_of(t), pack, unpack)
        self.tensor = None

    def unpack(self, entry: TapeEntry) -> TensorRef | None:
        """The tensor, with its history; an error where it was changed since."""

        if self.tensor is None and self.item is None:
            return None
        edge = None
        if self.nr is not None:
            edge = OutputEdge(entry, self.nr) if entry.n_outputs > 1 else entry
        if self.item is not None:
            return _with_history(self.item.unpack(), edge if edge is not None else self.item.edge)
        t = self.tensor
        if t._v.number != self.version:
            raise (stale(entry, t, self.version) if edge is None else stale(entry, t._data, self.version, t._v.number,
                                                                            self.nr or 0)).as_builtin()
        if edge is None:
            return t
        return _with_history(t, edge)


def unpack(entry: TapeEntry) -> tuple[Any, ...]:
    """What an entry saved, where that is no plain tuple: freed, or packed by saved-tensor hooks."""
    if entry.saved is None:
        raise freed(entry)
    return entry.saved.unpack(entry)


def _saved_items(entry: TapeEntry) -> list[Any]:
    """What an entry saved, one by one: tensors, arrays, numbers. What hooks packed is not unpacked."""
    found, stack = [], [*(entry.saved or ())]
    while stack:
        item = stack.pop()
        if isinstance(item, (tuple, list)):
            stack += item
        else:
            found.append(item.tensor if isinstance(item, SavedVariable) else item)
    return found


def saved_refs(entry: TapeEntry) -> list[TensorRef]:
    """The tensors that an entry saved as such, in any order; none where they were freed."""
    return [item for item in _saved_items(entry) if isinstance(item, TensorRef)]


def saved_arrays(entry: TapeEntry) -> list[np.ndarray]:
    """The memory of what an entry saved; none where it was freed."""
    found = [item._data if isinstance(item, TensorRef) else item for item in _saved_items(entry)]
    return [data for data in found if hasattr(data, "nbytes") and not isinstance(data, np.generic)]


def saved_bytes(entry: TapeEntry) -> int | None:
    """How many bytes an entry saved, each tensor counted once; None where they were freed."""
    return None if entry.saved is None else sum({id(a): a.nbytes for a in saved_arrays(entry)}.values())


def _shown(name: str) -> str:
    if name.endswith("Backwards"):
        return f"torch::autograd::{name}"
    return name.replace("Backward0", "").replace("Backward", "")


def stale(entry: TapeEntry, value: Any, expected: int | None, found: int | None = None, nr: int = 0) -> AutogradError:
    """The error of a saved tensor that was changed in place since; of output `nr` of the entry itself where only its buffer is left."""
    tensor = isinstance(value, TensorRef)
    if tensor and severed_since(value, expected or 0):
        return AutogradError("Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
                             "please use out-of-place `.detach()` instead", expected="a tensor with its history", found="one without",
                             remedy="detach a copy")
    version = changes((value._v.number if tensor else found) or 0)
    names = {"bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half",
             "float32": "Float", "float64": "Double", "bfloat16": "BFloat16", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}
    dtype = value._k.np if tensor else value.dtype  # the output of an OpSpec may have no data now
    name = names.get(dtype.name, dtype.name)
    what = f"[{f'CPU{name}Type' if dtype.kind in 'bc' else f'torch.{name}Tensor'} {list(value.shape)}]"
    creator = value.creator if tensor else entry
    if creator is not None and creator.forbids is not None:
        return AutogradError(creator.forbids)
    if creator is not None:
        nr = value._node.nr if tensor and value._node._tag == 2 else nr
        # Named as torch 2.13 does: MulBackward0 is Mul, TBackward1 is T1.
        what += f", which is output {nr} of {_shown(creator.name())},"
    return AutogradError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: {what} is at version "
        f"{version}; expected version {changes(expected or 0)} instead. Hint: enable anomaly detection to find the operation that failed "
        "to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).",
        expected="what was saved as it was", found=f"what was changed {version - changes(expected or 0)} times since"
        if version > changes(expected or 0) else "other memory", remedy="change a copy, or change it before it is used")
