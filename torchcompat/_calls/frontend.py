"""The front end for torch's tensors: torch's error types and wording, overrides and dispatch modes, in-place rules, `out=`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import DeviceLike, Keywords
from autograd_tape.calls import Door, mapped
from autograd_tape.dtypes import CPU_KINDS, META, Kind, inference_kind, kind
from autograd_tape import errors, views
from autograd_tape.errors import AutogradError
from autograd_tape.frontend import Frontend
from autograd_tape.strided import contiguous_strides, strided
from autograd_tape.record import Param, Record
from autograd_tape.modes import GradMode, grad_mode
from autograd_tape.node import OutputEdge, TapeEntry
from autograd_tape.tensor import BUFFERS, NOTHING, TensorRef, info_of
from autograd_tape.version import Version

from .above import above
from .devices import not_there
from .results import StructSequence, named
from .._memory.bits import bits_of, flipped, restored, values
from .._memory.layout import layout as Layout
from ..overrides import joins
from ..storage import fits, resize

if TYPE_CHECKING:
    from autograd_tape.dtypes import DType
    from torchcompat._tensor import Tensor


def _make(kind: type[StructSequence], *outputs: object) -> StructSequence:
    return tuple.__new__(kind, outputs)


class LinAlgError(RuntimeError):
    """A singular matrix, or one that a factorization does not exist for."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"


class TorchFrontend(Frontend):
    """Operations on torchcompat's Tensor."""

    module, return_types = "torch", "torchcompat.return_types"
    joins = staticmethod(joins)
    numpy_indexing = False
    numpy_unsigned = False
    numbers_with_history = False
    dtype_names = False
    saved_tensors_of_all = False
    torch_nodes = True
    numpy_words = True
    numpy_methods: frozenset[str] = frozenset()
    default_device: Any = None
    """Where factories make tensors, None for the CPU."""
    savers: list[Any] = []
    """What looks at each entry made on the general path: saved-tensor hooks, anomaly mode. Called with the entry."""

    @property
    def transforms(self) -> SimpleNamespace:
        """Those of `func`."""
        return SimpleNamespace(jvp=above.jvp, vjp=above.vjp, vmap=above.vmap)

    def home(self, rec: Record, name: str) -> tuple[str, str]:
        """The module of torchcompat that has the function, so that pickles of what holds it find it there."""
        if "." in name:
            place, _, own = name.rpartition(".")
            return f"torchcompat.{place}", own
        alias = next((a for a in rec.alias if "." in a), "") if rec.namespace == "_internal" else ""
        place, _, own = alias.rpartition(".") if alias else ("functional" if rec.field("home") == "functional" else rec.namespace, "", name)
        return "torchcompat" + f".{place}" * bool(place), own

    def home_of_method(self, name: str) -> tuple[str, str]:
        """As for functions."""
        return "torchcompat", f"Tensor.{name}"

    def conjugate(self, x: TensorRef) -> Tensor:
        """A view, where the quiet path is open to such tensors; computed for those of transforms and modes."""
        quiet = self.namespace["Q_ALL"]
        plain = x._k in quiet or quiet and bits_of(x) is not None
        return flipped(self, x, True, False) if plain and getattr(x, "_info", NOTHING).tangents is None else self.conj_physical(x)

    def unseen(self) -> AbstractContextManager[object]:
        """Without modes and classes."""
        return above.without_dispatch()

    def values_of(self, t: TensorRef) -> np.ndarray:
        """The buffer, but of a conjugate or negative view what it stands for."""
        return values(t)

    def stored(self, target: TensorRef, result: Any) -> Any:
        """The conjugate or negative for a tensor that stands for that of its memory."""
        bits = bits_of(target)
        return result if bits is None else bits(result)

    def wrap(self, array: Any, k: Kind | None = None, node: object = None) -> Any:
        """A new tensor over a buffer; an inference tensor in inference mode."""
        t = object.__new__(self.Tensor)
        if k is None:
            k = CPU_KINDS[array.dtype] if array.__class__ is np.ndarray or array.__class__ not in BUFFERS else array.kind
        elif k.special is not None:  # a plain tensor, whatever class `k` was taken from; one without elements of classes without
            k = kind(k.dtype, META if getattr(k.special, "_hollow", False) else k.device, None, k.inference)
        t._data, t._k, t._node = array, inference_kind(k) if grad_mode() is GradMode.INFERENCE else k, node
        t._v = t._base = None
        return t

    def values_for_size(self, t: Any) -> np.ndarray:
        """The elements, or the error of a class without."""
        if t._hollow:
            raise t._without_elements(sized=True)
        return values(t)

    def without_classes(self, rec: Record, values: Keywords, tensors: list[Any]) -> tuple[Keywords, list[Any]]:
        """Tensors without elements as meta tensors; NotImplementedError for those of other classes."""
        if not any([t._k.special is not None for t in tensors]):
            return values, tensors
        if not all([t._k.special is None or t._hollow for t in tensors]):
            raise NotImplementedError(f"{rec.name}(): no gradient where the class of a tensor carries it out")
        twins = {id(t): self.wrap(t._data, kind(t._k.dtype, META, None, t._k.inference)) for t in tensors}
        return {name: mapped(lambda t: twins[id(t)], value) for name, value in values.items()}, list(twins.values())

    def valueless(self, t: Any) -> bool:
        """Whether a tensor is a meta tensor, or of a class without elements."""
        return t._k.device.type == "meta" or t._hollow

    def become(self, t: Any, view: Any) -> bool:
        """With the view's tangents in forward mode, which have its shape. Tensors of transforms hold another, and its history."""
        if hasattr(t, "_become"):
            t._become(view)
            return False
        super().become(t, view)
        tangents = getattr(view, "_info", NOTHING).tangents
        if tangents is not None:
            info_of(t).tangents = tangents
        return True

    def bare(self, t: Any) -> Any:
        """Another instance of the tensor's class over the same things, without history; version counters are shared."""
        bare = object.__new__(type(t))
        bare._data, bare._k, bare._v, bare._node, bare._base = t._data, t._k, Version.of(t), None, None
        bare.__dict__.update(t.__dict__)
        for cls in type(t).__mro__:  # attributes in slots, but not those of Tensor itself
            if cls is self.Tensor:
                break
            slots = cls.__dict__.get("__slots__", ())
            for name in () if isinstance(slots, str) else slots:
                if name != "__dict__" and hasattr(t, name):
                    setattr(bare, name, getattr(t, name))
        return bare

    def saved_output(self, node: TapeEntry, nr: int, data: Any, version: Version, number: int, k: Any) -> Any:
        """A saved output as a tensor with its history; of its own class where that is special, with its tangents in forward mode."""
        if isinstance(k, Kind):
            t = super().saved_output(node, nr, data, version, number, k)
        else:
            t = self.bare(k)
            t._node = node if node.n_outputs == 1 else OutputEdge(node, nr)
        if "tangents" in node.__dict__:
            above.restore_tangents(node, nr, t)
        return t

    def coerce(self, p: Param, value: object) -> Any:
        """Arguments are taken as they are: torch converts none."""
        return value

    def error(self, error: AutogradError) -> Exception:
        """The built-in exception with torch's wording."""
        if isinstance(error, errors.ExecutorUnavailableError):
            return not_there(error)
        return LinAlgError(error.message) if isinstance(error, errors.LinAlgError) else error.as_builtin()

    def named_tuple(self, name: str, names: Sequence[str]) -> type[StructSequence]:
        """One that is made of a sequence."""
        return named(name, names)

    def returned(self, rec: Record, out: bool = False) -> Any:
        """Without a look at the outputs."""
        kind = self.return_type(rec, out)
        return None if kind is None else functools.partial(_make, kind)

    def refused(self, door: Door, inplace: bool) -> Exception | None:
        """torch's error, where its parser of arguments refuses the call."""
        from .grammar import refused

        return refused(door, inplace)

    def in_layout(self, name: str, shape: tuple[int, ...], dtype: Any, layout: Any, device: Any, requires_grad: bool) -> Any:
        """No elements in a sparse layout.

        Raises:
            ArgumentError: it is no layout.
        """
        if not isinstance(layout, Layout):
            raise errors.ArgumentError(f"{name}(): argument 'layout' must be torch.layout, not {errors.type_name(layout)}",
                                       expected="torch.layout", found=errors.type_name(layout))
        return above.sparse_methods().made_in_layout(name, shape, dtype, layout, device, requires_grad)

    def made_like(self, model: Any, result: Any) -> Any:
        """After the model of an example in vmap, one for each example."""
        return above.made_like(model, result) if hasattr(model, "_level") else result

    def pack_saved(self, node: TapeEntry) -> None:
        """Hands a new entry to those that look at entries."""
        for saver in self.savers:
            saver(node)

    def check_random_inplace(self, target: TensorRef) -> None:
        """Raises where `target` may not be overwritten."""
        try:
            views.check_inplace(target)
            views.check_single(target)
        except AutogradError as error:
            raise self.error(error) from None

    def to_device(self, t: Tensor, device: DeviceLike, dtype: DType | None = None) -> Tensor:
        """`t` on another device, and as another dtype where one is given: a copy, with memory of its own."""
        return self.transfer(t, t._k.dtype if dtype is None else dtype, str(device), str(t._k.device))

    def bits_of(self, t: TensorRef) -> Any:
        """Whether the memory of a tensor holds conjugates, or negatives."""
        return bits_of(t)

    def restored(self, fresh: Any, bits: Any) -> Any:
        """A view that was made anew, as the conjugate or negative that it was."""
        return restored(self, fresh, bits)

    def resizes(self, target: Any, shape: tuple[int, ...]) -> bool:
        """A view must stay in the memory of its base."""
        return target._k.device.type != "meta" and (target._base is None or fits(target, shape))

    resize = staticmethod(resize)

    def check_out_shape(self, out: TensorRef, result: TensorRef) -> None:
        """torch gives it that shape, with a warning where it had elements."""
        if out._data.size:
            warned.warn(f"An output with one or more elements was resized since it had shape {list(out._data.shape)}, which does "
                        f"not match the required output shape {list(result._data.shape)}. This behavior is deprecated, and in a "
                        "future PyTorch release outputs will not be resized unless they have zero elements. You can explicitly "
                        "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).", UserWarning)

    def resize_out(self, out: Any, result: TensorRef) -> None:
        """Gives `out` the shape of the result, and its layout."""
        resize(out, result._data.shape)
        made = result._data
        step = made.itemsize  # dimensions of size 1 have strides, too, which NumPy does not count when it calls memory contiguous
        if (made.strides != tuple(contiguous_strides(made.shape, step)) and views.is_dense(made.shape, made.strides, step)
                and out._k.device.type != "meta" and out._k.special is None):
            out._data = strided(out._data, made.shape, [s // step * out._data.itemsize for s in made.strides])
