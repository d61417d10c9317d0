"""Tensor: torch's tensor over the tape's TensorRef.

Operations are not written here: methods and operators come from the operation records (`install_methods`). What follows is
what a tensor *is*: its metadata, its memory, its gradient, conversion to and from other things.
"""

from __future__ import annotations

import copyreg
import operator
from copy import deepcopy
from types import BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn, cast, overload
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import Arguments, DeviceLike, Fn, Keywords
from autograd_tape.strided import channels_last_strides, contiguous_strides, strided, suggests_channels_last
from autograd_tape.calls import HERE, TO_ALL, TO_PLAIN, passed
from autograd_tape.dtypes import (
    CPU, CPU_KINDS, DType, Device, Kind, SCALAR_TYPE_NAMES, bool_, default_dtype, int64, kind,
)
from autograd_tape.errors import AutogradError
from autograd_tape.frontend import install_methods, same_method
from autograd_tape.functions.overloads import no_match
from autograd_tape.version import Version, sever
from autograd_tape.warned import warn_once
from autograd_tape.modes import GradMode, grad_mode, no_grad
from autograd_tape.node import Folded, NoGradView, RemovableHandle, seen
from autograd_tape.tensor import LEAF, NOTHING, Absent, TensorRef
from autograd_tape.views import NotImplementedNode, rebase, tell_views

from ._calls.above import above
from ._calls.absent import AbsentAttribute
from ._calls.frontend import TorchFrontend
from ._memory.metadata import Metadata
from ._tensor_str import tensor_str
from ._memory.layout import channels_last, channels_last_3d, contiguous_format, layout, memory_format, nested_layout, preserve_format
from ._memory.size import Size
from ._memory.bits import Bits, bits_of, flipped, marked, values, with_bits
from .overrides import (
    WITHOUT, DisableTorchFunction, DisableTorchFunctionSubclass, convert_results, disabled_torch_function, look_for_classes, met,
)
from .storage import TypedStorage, UntypedStorage, resize, view_of

if TYPE_CHECKING:
    import enum


_new = object.__new__
_ndarray = np.ndarray
_set_requires_grad: Any = TensorRef.requires_grad.fset  # type: ignore[attr-defined]  # of a property


_FUNCTION = "__torch_function__"
_OF_TORCH = BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType
"""The functions of torch itself, which ask our tensors where both are in one process."""


class _TensorMeta(type):
    """The type of Tensor; a place for instance checks that subclasses such as Parameter refine."""

    def __init__(cls, name: str, bases: tuple[type, ...], names: Keywords, **kwargs: object) -> None:
        super().__init__(name, bases, names, **kwargs)
        if "__torch_dispatch__" in names and bases != (Metadata,) and carries_out(cls):
            own, usual = [getattr(getattr(c, _FUNCTION), "__func__", None) for c in (cls, Tensor)]
            if own is usual:  # what a class carries out is not made one of the class again
                setattr(cls, _FUNCTION, disabled_torch_function)


_PLACE = "int storage_offset, tuple of ints size, tuple of ints stride = None"
_SET = ("", "torch.Storage source", f"torch.Storage source, {_PLACE}", "Tensor source", f"Tensor source, {_PLACE}")
_NO_GRADIENT = ("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using tensor.detach() "
                "first.")
_OF_NUMBERS, _CONJUGATE, _IDENTITY = ("{} is deprecated on 0-D tensors. {}", "Consider using x.conj().",
                                      "This function is the identity in these cases.")
REFUSED = ("You are attempting to call {} inside of a function being transformed by a functorch transform. This is unsupported, please "
           "attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {} outside of a function being "
           "transformed instead.")


class Tensor(Metadata, metaclass=_TensorMeta):
    """A multi-dimensional array of one dtype, with torch's semantics.

    >>> import torchcompat as torch
    >>> x = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([[2., 4.],
            [6., 8.]])
    """

    __slots__ = ("__dict__",)
    __array_priority__ = 1000
    _is_param = False
    _hollow = False  # whether its class has no elements to show
    # torch's tensors know `__array__` and `__array_wrap__` alone: NumPy's functions compute with their values.
    __array_ufunc__ = __array_function__ = __array_namespace__ = Absent()
    astype, copy, stop_gradient = Absent(), Absent(), Absent()
    dequantize, int_repr, q_scale, q_zero_point, q_per_channel_axis, q_per_channel_scales, q_per_channel_zero_points, qscheme = [
        AbsentAttribute() for _ in range(8)]
    record_stream, slice_inverse, index, name, grad_dtype = [AbsentAttribute() for _ in range(5)]
    reinforce, resize, resize_as = [AbsentAttribute() for _ in range(3)]
    argpartition, choose, compress, conjugate, ptp, searchsorted = [Absent() for _ in range(6)]

    def __new__(cls, *args: object, **kwargs: object) -> "Tensor":
        if args or kwargs:
            return above.legacy_tensor(cls, *args, **kwargs)
        return _blank(cls, np.empty(0, default_np()))

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass  # everything happens in __new__; TensorRef's own constructor takes other arguments

    # -- conjugates -----------------------------------------------------------------------------------------------

    def resolve_conj(self) -> "Tensor":
        """The tensor with its elements in memory: itself, or a copy of a conjugate view."""
        return self.clone() if self.is_conj() else self

    def resolve_neg(self) -> "Tensor":
        """The tensor with its elements in memory: itself, or a copy of a negative view."""
        return self.clone() if self.is_neg() else self

    def _conj(self) -> "Tensor":
        """A conjugate view."""
        return frontend.conj(self)

    def _conj_physical(self) -> "Tensor":
        """The conjugate, computed."""
        return frontend.conj_physical(self)

    def _neg_view(self) -> "Tensor":
        """A negative view."""
        return flipped(frontend, self, False, True)

    # -- views as attributes --------------------------------------------------------------------------------------

    @property
    def T(self) -> "Tensor":
        """All dimensions reversed."""
        rank = self._data.ndim
        if rank != 2:
            warn_once("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
                      "error in a future release. Consider `x.mT` to transpose batches of matrices or "
                      "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
                      if rank else _OF_NUMBERS.format("Tensor.T", _IDENTITY),
                      "Tensor.T" if rank else "Tensor.T of numbers")
        return self.permute(tuple(range(rank - 1, -1, -1)))

    @property
    def mT(self) -> "Tensor":
        """The last two dimensions exchanged."""
        return self.transpose(-2, -1) if self._data.ndim > 1 else self._of_numbers("mT", _IDENTITY)

    @property
    def H(self) -> "Tensor":
        """The conjugate transpose of a matrix."""
        if self._data.ndim in (0, 2):
            return self.mH if self._data.ndim else self._of_numbers("H").conj()
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self._data.ndim}-D tensor."
                           + " For batches of matrices, consider using tensor.mH" * (self._data.ndim > 2))

    @property
    def mH(self) -> "Tensor":
        """The conjugate transpose of the last two dimensions."""
        swapped = self.transpose(-2, -1) if self._data.ndim > 1 else self._of_numbers("mH")
        return swapped.conj() if self._k.dtype.is_complex else swapped

    def _of_numbers(self, name: str, instead: str = _CONJUGATE) -> "Tensor":
        """The tensor, which has no dimensions to exchange, with torch's warning; RuntimeError where it has one."""
        if self._data.ndim:
            raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
        warn_once(_OF_NUMBERS.format(f"Tensor.{name}", instead))
        return self

    @property
    def real(self) -> "Tensor":
        """The real parts, a view; a real tensor itself."""
        return frontend.real(self)

    @real.setter
    def real(self, value: object) -> None:
        self.real.copy_(value if isinstance(value, Tensor) else frontend.full_like(self.real.detach(), value))

    @property
    def imag(self) -> "Tensor":
        """The imaginary parts, a view."""
        return frontend.imag(self)

    @imag.setter
    def imag(self, value: object) -> None:
        self.imag.copy_(value if isinstance(value, Tensor) else frontend.full_like(self.imag.detach(), value))

    # -- gradient -------------------------------------------------------------------------------------------------

    @TensorRef.requires_grad.setter  # type: ignore[attr-defined]  # of a property
    def requires_grad(self, value: bool) -> None:
        try:
            _set_requires_grad(self, value)
        except AutogradError as error:
            raise RuntimeError(error.message) from None  # torch's for each of these

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Sets `requires_grad` in place; only for leaves."""
        if requires_grad and above.transforming_functions is not None and above.transforming_functions():
            raise RuntimeError(REFUSED.format("Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs)",
                                              "requires_grad_()"))
        try:
            super().requires_grad_(requires_grad)
        except AutogradError as error:
            raise error.as_builtin() from None
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        node = self._node
        return node is None or node is LEAF or _history(self) is None

    @property
    def grad_fn(self) -> Any:
        """The graph node that made this tensor."""
        node = self._node
        if node is None or node is LEAF:
            return None
        found = _history(self)
        return seen(node)[0] if isinstance(found, Folded) else found

    @property
    def output_nr(self) -> int:
        """Which output of its node this tensor is."""
        node = self._node
        return 0 if node is None or node is LEAF else seen(node)[1] if node._tag == 2 else getattr(node, "nr", 0)

    @property  # type: ignore[override]  # whose setter takes these alone
    def grad(self) -> Tensor | None:
        """The accumulated gradient."""
        grad = getattr(self, "_grad", None)
        if grad is None and self._node is not None and self._node is not LEAF and self._node.__class__ is not NoGradView \
                and not self.retains_grad:

            warned.warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                        "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
                        "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
                        "the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.", UserWarning)
        return grad

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value._k.dtype is not self._k.dtype:
                raise RuntimeError(f"attempting to assign a gradient with dtype '{_C_NAMES[value._k.dtype.name]}' to a tensor with "
                                   f"grad_dtype '{SCALAR_TYPE_NAMES[self._k.dtype.name]}'. The gradient must match the tensor's grad_dtype "
                                   "(defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, "
                                   "or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its "
                                   "gradient may break downstream systems that assume they match.")
            if value._k.device != self._k.device:
                raise RuntimeError(f"attempting to assign a gradient with device type '{value._k.device.type}' to a tensor with device "
                                   f"type '{self._k.device.type}'. Please ensure that the gradient and the tensor are on the same device")
            if value._data.shape != self._data.shape:
                raise RuntimeError(f"attempting to assign a gradient of size '{list(value._data.shape)}' to a tensor of size "
                                   f"'{list(self._data.shape)}'. Please ensure that the gradient and the tensor are the same size")
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> "Tensor":
        """The same memory without history, and with a version counter of its own."""
        if self._k.special is not None and carries_out(type(self)):
            t = self.detach()
            t._v = None
            return t
        t = _new(Tensor)
        t._data, t._k = self._data, self._k
        t._node = t._v = t._base = None
        return t

    @data.setter
    def data(self, value: "Tensor") -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self._node is not None and not (value._k.dtype.is_floating_point or value._k.dtype.is_complex):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if (value._k.device.type == "meta") is not (self._k.device.type == "meta") or value.layout is not self.layout:
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.")
        self._data = value._data
        self._k = value._k if self._k.special is None else kind(value._k.dtype, value._k.device, self._k.special)

    def detach(self) -> "Tensor":
        """The same memory, without history."""
        if TO_ALL and (TO_PLAIN or self._k.special is not None) and (found := passed(Tensor.detach, (self,))) is not HERE: return found
        t = _new(Tensor)
        t._data, t._k = self._data.view(), self._k
        t._node, t._base = None, None
        t._v = self._v or Version.of(self)
        return t

    def detach_(self) -> "Tensor":
        """Cuts the tensor off its history, in place."""
        if self._base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                               "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                               "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                               "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
        if self._node is not None and self._node is not LEAF:
            sever(self)
        self._node = None
        tell_views(self)
        if hasattr(self, "_info"):
            self._info.tangents = None
        return self

    def backward(self, gradient: object = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: object = None) -> None:
        """Adds the gradients of this tensor with respect to the graph's leaves to their `.grad`."""
        above.backward_of(self, gradient, retain_graph, create_graph, inputs)

    def _add_grad(self, gradient: np.ndarray) -> None:
        above.add_grad(self, gradient)

    def _keep_grad(self, gradient: Any) -> None:
        above.keep_grad(self, gradient)

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """`hook(grad)` runs when the gradient of this tensor is computed; what it returns replaces it."""
        return above.register_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """`hook(tensor)` runs after this leaf's `.grad` was accumulated."""
        return above.register_post_accumulate_hook(self, hook)

    def retain_grad(self) -> None:
        """Makes backward fill `.grad` of this non-leaf."""
        if above.transforming_functions is not None and above.transforming_functions():
            raise RuntimeError(REFUSED.format("Tensor.retain_grad()", "retain_grad()"))
        above.retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this non-leaf."""
        return getattr(self, "_info", NOTHING).retains_grad

    # -- numbers and arrays ---------------------------------------------------------------------------------------

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        if TO_ALL and (TO_PLAIN or self._k.special is not None) and (found := passed(Tensor.item, (self,))) is not HERE: return found
        if self._data.size != 1:
            raise RuntimeError(f"a Tensor with {self._data.size} elements cannot be converted to Scalar")
        data = self._data
        if self._k.special is not None:
            if self._k.special.__class__ is layout:
                return above.sparse_methods().item(self)
            if self.is_nested:
                raise above.nested_methods().refused("_local_scalar_dense")
            data = values(self)
        if self._k.device is not CPU:
            data = self._fetched("item")
        value = data.item()
        return value if value.__class__ in _PYTHON_NUMBERS else self._k.dtype.numbers(data).item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        data = self._data if self._k.device is CPU else self._fetched("tolist")
        if self._k.special is not None:
            self._needs_data("tolist")
            data = values(self)
        return data.tolist() if data.dtype.isbuiltin == 1 else self._k.dtype.numbers(data).tolist()

    def _fetched(self, what: str) -> np.ndarray:
        """The elements for Python; those of a sharded tensor are gathered."""
        self._needs_data(what)
        data = self._data
        return data if data.__class__ is np.ndarray else data.whole()

    def _needs_data(self, what: str) -> None:
        if self._hollow:
            if what == "numpy":
                raise RuntimeError(".numpy() is not supported for tensor subclasses.")
            raise self._without_elements()  # type: ignore[attr-defined]  # which such classes have
        if self._k.special.__class__ is layout:
            if what == "numpy":
                name = above.sparse_methods().NAMES[self._k.special]
                raise TypeError(f"can't convert {name} layout tensor to numpy. Use Tensor.to_dense() first.")
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        if self.is_nested:
            raise above.nested_methods().without("sizes" if what == "numpy" else "strides")
        if self._k.device.type == "meta":
            if what == "numpy":
                raise TypeError("can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
            if what == "item":
                raise RuntimeError("Tensor.item() cannot be called on meta tensors")
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The array itself: the same memory."""
        if self._node is not None and not force and grad_mode() is GradMode.ENABLED:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        k = self._k
        if k.special is not None or k.device.type == "meta":
            self._needs_data("numpy")
            bits = bits_of(self)
            if bits is not None and not force:
                bit, name = ("conjugate", "conj") if bits.conj else ("negative", "neg")
                raise RuntimeError(f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{name}().numpy() instead.")
        if k.np.isbuiltin != 1:
            raise TypeError(f"Got unsupported ScalarType {k.dtype.scalar}")
        if k.special is not None:
            return values(self)
        return self._data if k.device is CPU else self._fetched("numpy")

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array: np.ndarray, context: object = None, return_scalar: bool = False) -> "Tensor":
        return frontend.wrap(np.asarray(array).astype(np.uint8) if array.dtype == bool else np.asarray(array))

    def __delitem__(self, index: object) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __dlpack__(self, *, stream: int | None = -1, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None,
                   copy: bool | None = None) -> Any:
        """A DLPack capsule of the memory, or of a copy.

        Raises:
            BufferError: a gradient, a conjugation or another layout would be lost, or there is no memory.
            TypeError: `stream` is no number.
            AssertionError: `stream` is one: nothing is ordered by streams here.
        """
        if TO_ALL and (found := passed(Tensor.__dlpack__, (self, stream, max_version, dl_device, copy))) is not HERE: return found
        from ._memory.capsules import DLDeviceType, packed

        if self._node is not None:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_conj():
            raise BufferError("Can't export tensors with the conjugate bit set")
        if self.layout.name != "strided":
            raise BufferError("Can't export tensors with layout other than torch.strided")
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        if stream not in (None, -1):
            raise AssertionError("stream should be None on cpu.")
        if self._k.device.type == "meta" or dl_device is not None and dl_device[0] != DLDeviceType.kDLCPU:
            raise BufferError(f"Cannot pack tensors on {self._k.device.type if dl_device is None else DLDeviceType(dl_device[0]).name}")
        array = self._data if self._k.device is CPU else self._fetched("numpy")
        return packed(array.copy() if copy else array, self._k.dtype)

    def __dlpack_device__(self) -> tuple[enum.IntEnum, int]:
        """DLPack's number of the device, and the device's index; ValueError where it has none."""
        if TO_ALL and (found := passed(Tensor.__dlpack_device__, (self,))) is not HERE: return found
        from ._memory.capsules import DLDeviceType

        if self._k.device.type == "meta":
            raise ValueError("Unknown device type meta for Dlpack")
        return DLDeviceType.kDLCPU, 0

    def __bool__(self) -> bool:
        if TO_ALL and (TO_PLAIN or self._k.special is not None) and (found := passed(Tensor.__bool__, (self,))) is not HERE: return found
        data = self._data
        if data.size != 1:
            if data.size == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if self._k.device is not CPU:
            data = self._fetched("item")
        return bool(data) if self._k.special is None else bool(self.item())

    def __int__(self) -> int:
        if TO_ALL and (TO_PLAIN or self._k.special is not None) and (found := passed(Tensor.__int__, (self,))) is not HERE: return found
        try:
            value = self.item()
        except RuntimeError as error:
            raise self._no_number(error) from None
        return int(value) if value.__class__ is not complex else int(_real(value, "int64_t"))

    def __float__(self) -> float:
        if TO_ALL and (TO_PLAIN or self._k.special is not None) and (found := passed(Tensor.__float__, (self,))) is not HERE: return found
        if self.requires_grad and grad_mode() is GradMode.ENABLED:
            warn_once(_NO_GRADIENT)
        try:
            value = self.item()
        except RuntimeError as error:
            raise self._no_number(error) from None
        return float(value) if value.__class__ is not complex else _real(value, "double")

    def __complex__(self) -> complex:
        if self.requires_grad and grad_mode() is GradMode.ENABLED:
            warn_once(_NO_GRADIENT)
        try:
            return complex(self.item())
        except RuntimeError as error:
            raise self._no_number(error) from None

    def _no_number(self, error: Exception) -> Exception:
        return error if self._data.size == 1 else ValueError("only one element tensors can be converted to Python scalars")

    def __index__(self) -> int:
        if self._k.dtype.category > 1 or self._data.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return operator.index(self.item())

    def __len__(self) -> int:
        if not self._data.ndim:
            raise TypeError("len() of a 0-d tensor")
        if self.is_nested:
            raise above.nested_methods().without("sizes")
        return self._data.shape[0]

    def __iter__(self) -> Iterator["Tensor"]:
        if not self._data.ndim:
            raise TypeError("iteration over a 0-d tensor")
        if self.is_nested:
            raise above.nested_methods().without("sizes")
        return iter(self.unbind(0))

    def __dir__(self) -> list[str]:
        # Slots that are set on first need only would be names without a value.
        return sorted(name for name in object.__dir__(self) if name not in ("_grad", "_id", "_info") or hasattr(self, name))

    def __invert__(self) -> "Tensor":
        try:
            return frontend.bitwise_not(self)
        except NotImplementedError:  # `bitwise_not` says that it has no such kernel, as it does for the rarer integers
            if self.is_floating_point() or self.is_complex():
                raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors") from None
            raise

    def __contains__(self, element: object) -> bool:
        if isinstance(element, (Tensor, int, float, complex, bool)):
            return bool(frontend.eq(self, element).any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __format__(self, spec: str) -> str:
        if self._data.ndim == 0 and type(self) in (Tensor,) and self._k.device.type != "meta":
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        node, dtype, device, cls = self.creator, self._k.dtype, self._k.device, type(self)
        if node.__class__ is NoGradView:
            node = None
        if self._k.special.__class__ is layout:
            made = None if node is None else f"grad_fn=<{node.name().rpartition('::')[2]}>"
            ends = [made] if made else ["requires_grad=True"] if self._node is not None else []
            return above.sparse_methods().text(self, "tensor(", _is_default(dtype), ends)
        if self.is_nested:
            made = None if node is None else f"grad_fn=<{node.name().rpartition('::')[2]}>"
            return above.nested_methods().text(self, [made] if made else ["requires_grad=True"] if self._node is not None else [])
        hollow = device.type == "meta" or cls._hollow
        shown, place = (None, []) if hollow else values(self).shown() if device.type == "mesh" else (values(self), [])
        return tensor_str(
            shown, place=place, dtype_name=repr(dtype), is_default_dtype=_is_default(dtype),
            device=None if device.type in ("cpu", "mesh") else str(device), requires_grad=self._node is not None,
            grad_fn_name=None if node is None else node.name().rpartition("::")[2] if hasattr(node, "name") else type(node).__name__,
            shape=self._data.shape, is_default_float=dtype is default_dtype(), is_parameter=self._is_param,
            class_name="tensor" if cls is Tensor or "_plain" in cls.__dict__ else cls.__name__, contents=tensor_contents,
            tangent=self._tangent_text())

    def _tangent_text(self) -> str | None:
        """The tangent of the innermost forward-mode level, as it is shown."""
        tangents = getattr(self, "_info", NOTHING).tangents
        known = [t for _, t in sorted(((level.number, t) for level, t in tangents.items() if t is not None),
                                      key=lambda x: x[0])] if tangents else []
        return repr(known[-1]) if known else None

    def __hash__(self) -> int:
        return id(self)

    # -- what torch took out, and refuses ---------------------------------------------------------------------------

    def solve(self, other: object) -> NoReturn:
        """Refuses: see `torch.linalg.solve`."""
        from ._calls.removed import solve

        solve(self, other)

    def lstsq(self, other: object) -> NoReturn:
        """Refuses: see `torch.linalg.lstsq`."""
        from ._calls.removed import lstsq

        lstsq(self, other)

    def eig(self, eigenvectors: bool = False) -> NoReturn:
        """Refuses: see `torch.linalg.eig`."""
        from ._calls.removed import eig

        eig(self, eigenvectors=eigenvectors)

    def symeig(self, eigenvectors: bool = False) -> NoReturn:
        """Refuses: see `torch.linalg.eigh`."""
        from ._calls.removed import _symeig

        _symeig(self, eigenvectors=eigenvectors)

    # -- conversion -----------------------------------------------------------------------------------------------

    @overload
    def to(self, device: DeviceLike | None = ..., dtype: DType | None = ..., non_blocking: bool = ..., copy: bool = ..., *,
           memory_format: memory_format | None = ...) -> Tensor: ...
    @overload
    def to(self, dtype: DType, non_blocking: bool = ..., copy: bool = ..., *, memory_format: memory_format | None = ...) -> Tensor: ...
    @overload
    def to(self, other: Tensor, non_blocking: bool = ..., copy: bool = ..., *, memory_format: memory_format | None = ...) -> Tensor: ...
    def to(self, *args: object, **kwargs: object) -> "Tensor":
        """Converted to a dtype, a device, or both of another tensor; itself where nothing changes and `copy` is false."""
        if TO_ALL and (found := met(Tensor.to, (self, *args), kwargs)) is not HERE: return found
        dtype, device, copy, memory_format = above.parse_to(*args, **kwargs)
        return above.convert(self, dtype, device, copy, memory_format)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The type's name, or the tensor converted to a type."""
        if dtype is None:
            return _type_string(self)
        if isinstance(dtype, str):
            *place, name = dtype.removeprefix("torch.").removesuffix("Tensor").split(".")
            found = next((d for d, n in SCALAR_TYPE_NAMES.items() if n == name), None)
            if found is None or place not in ([], ["cuda"], ["npu"]):
                raise ValueError(f"invalid type: '{dtype}'")
            return above.convert(self, DType.by_name[found], Device(place[0]) if place else CPU, False, None)
        if dtype is Tensor:
            dtype = default_dtype()
        elif not isinstance(dtype, DType):
            if getattr(dtype, "is_cuda", False):
                return above.convert(self, dtype.dtype, Device("cuda"), False, None)
            dtype = getattr(dtype, "dtype", dtype)
            if not isinstance(dtype, DType) and dtype not in (bool, int, float, complex):
                raise TypeError("dtype must be a type, str, or dtype object")
        return above.convert(self, dtype, None, False, None)

    def type_as(self, other: "Tensor") -> "Tensor":
        """Converted to the dtype and device of `other`."""
        return above.convert(self, other._k.dtype, other._k.device, False, None)

    def cpu(self, memory_format: memory_format | None = None) -> "Tensor":
        """On the CPU."""
        return above.convert(self, None, CPU, False, memory_format)

    def cuda(self, device: DeviceLike | None = None, non_blocking: bool = False, memory_format: memory_format | None = None) -> "Tensor":
        """On a CUDA device."""
        return self._elsewhere("cuda", device, memory_format)

    def xpu(self, device: DeviceLike | None = None, non_blocking: bool = False, memory_format: memory_format | None = None) -> "Tensor":
        """On an XPU."""
        return self._elsewhere("xpu", device, memory_format)

    def mtia(self, device: DeviceLike | None = None, non_blocking: bool = False, memory_format: memory_format | None = None) -> "Tensor":
        """On an MTIA device."""
        return self._elsewhere("mtia", device, memory_format)

    def ipu(self, device: DeviceLike | None = None, non_blocking: bool = False, memory_format: memory_format | None = None) -> "Tensor":
        """On an IPU."""
        return self._elsewhere("ipu", device, memory_format)

    def _elsewhere(self, kind: str, device: DeviceLike | None, memory_format: memory_format | None) -> "Tensor":
        """On a device of this type; RuntimeError where `device` is of another."""
        wanted = Device(kind) if device is None else Device(kind, device) if isinstance(device, int) else Device(device)
        if wanted.type != kind:
            raise RuntimeError(f"Invalid device, must be {kind} device")
        return above.convert(self, None, wanted, False, memory_format)

    def npu(self, device: DeviceLike | None = None, non_blocking: bool = False) -> "Tensor":
        """On an NPU."""
        return above.convert(self, None, Device("npu") if device is None else Device(device), False, None)

    def set_(self, source: Any = NOTHING, storage_offset: int = 0, size: Size | tuple[int, ...] | None = None,
             stride: Sequence[int] | None = None) -> "Tensor":
        """Makes this tensor look at other memory."""
        if self._k.special.__class__ is layout:
            raise above.sparse_methods().refused(self, "set_.source_Tensor")
        given = [source, storage_offset, size, stride]
        while given and given[-1] is None:
            given.pop()
        kinds: tuple[Any, ...] = ((Tensor, TypedStorage, UntypedStorage), int, (tuple, list), (tuple, list))
        if source is NOTHING:
            source = None
        elif (len(given) == 2 and storage_offset or not all([isinstance(x, kind) for x, kind in zip(given, kinds)])):
            raise frontend.error(no_match("set_", _SET, given[:1] if given[1:] == [0] else given))
        if isinstance(source, Tensor) and source._k.dtype is not self._k.dtype:
            raise RuntimeError(f"Could not set tensor of type {_C_NAMES[source._k.dtype.name]} to a tensor of type "
                               f"{_C_NAMES[self._k.dtype.name]}")
        if source is not None and source.device != self._k.device:
            raise RuntimeError(f'Attempted to set the storage of a tensor on device "{self._k.device}" to a storage on different device '
                               f'"{source.device}".  This is no longer allowed; the devices must match.')
        try:
            frontend.check_inplace(self, (source,) if isinstance(source, Tensor) else ())
        except AutogradError as error:
            raise frontend.error(error) from None
        if source is None:
            self._data = np.empty(0, self._k.np)
        elif isinstance(source, Tensor):
            if grad_mode() is GradMode.ENABLED and (self._node is not None or source._node is not None):
                rebase(frontend, self, NotImplementedNode(self, source), 0)
            self._data = source._data if size is None else source.as_strided(size, stride or contiguous_strides(size), storage_offset)._data
        else:
            memory = source.untyped()
            if memory is not source and source.dtype is not self._k.dtype:
                raise RuntimeError(f"Expected a Storage of type {_C_NAMES[self._k.dtype.name]} or an UntypedStorage, but got type "
                                   f"{SCALAR_TYPE_NAMES[source.dtype.name]} for argument 1 'storage'")
            if size is None:
                size = (memory.nbytes() // self._k.np.itemsize - storage_offset,)
            self._data = view_of(memory, self._k.dtype, storage_offset, tuple(size), contiguous_strides(size) if stride is None else stride)
        frontend.bump(self)
        return self

    def is_nonzero(self) -> bool:
        """Whether the only element is not zero.

        Raises:
            RuntimeError: there are several elements, or none.
        """
        return bool(self)

    def is_same_size(self, other: "Tensor") -> bool:
        """Whether `other` has the same shape."""
        return self._data.shape == other._data.shape

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self._k.dtype.is_signed

    def __reversed__(self) -> "Tensor":
        return self if self.ndim == 0 else self.flip(0)

    def resize_(self, *sizes: Any, size: Sequence[int] | None = None, memory_format: memory_format | None = None) -> "Tensor":
        """Changes the shape in place, and the order of dimensions to that of `memory_format`; new elements are uninitialised.

        Raises:
            RuntimeError: the tensor requires grad, `size` is more than there are addresses, or of another rank than `memory_format` has.
        """
        if self._k.special.__class__ is layout:
            return above.sparse_methods().resize_(self, *sizes, size=size)
        sizes = sizes if size is None else (size,)
        if not sizes:
            raise TypeError('resize_() missing 1 required positional arguments: "size"')
        sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
        if self._node is not None:
            raise RuntimeError("cannot resize variables that require grad")
        if above.has_tangents is not None and above.has_tangents(self):
            raise RuntimeError("cannot resize variables that has a forward grad")
        if memory_format is preserve_format:
            raise RuntimeError("Unsupported memory formatPreserve")
        ranks = {channels_last: 4, channels_last_3d: 5}
        if memory_format in ranks and len(sizes) != ranks[memory_format]:
            raise RuntimeError(f"required rank {ranks[memory_format]} tensor to use {memory_format.name} format")
        steps = None if memory_format not in ranks else channels_last_strides(sizes)
        before = self.numel()
        resize(self, sizes)
        if steps is not None:
            self._data = strided(self._data, sizes, [n * self._data.itemsize for n in steps])
        if above.fill is not None and self.numel() > before:
            above.fill(self, before)
        return self

    def resize_as_(self, the_template: "Tensor", memory_format: memory_format | None = None) -> "Tensor":
        """Changes the shape in place to that of `the_template`, and the order of dimensions to that of `memory_format`, or of the template
        where that is to be preserved."""
        if self._k.special.__class__ is layout:
            return above.sparse_methods().resize_as_(self, the_template)
        if memory_format is preserve_format:
            orders = {4: channels_last, 5: channels_last_3d}
            like = the_template.dim() in orders and suggests_channels_last(the_template._data)
            memory_format = orders[the_template.dim()] if like else contiguous_format
        return self.resize_(the_template.shape, memory_format=memory_format)

    def module_load(self, other: "Tensor", assign: bool = False) -> "Tensor":
        """What a module takes for this parameter or buffer when `other` is loaded: its values, or with `assign` itself; without history."""
        return other.detach() if assign else self.copy_(other).detach()

    def to_sparse_coo(self) -> "Tensor":
        """A sparse tensor of its elements."""
        return self.to_sparse()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tensor":
        if TO_ALL and (found := passed(Tensor.__deepcopy__, (self, memo))) is not HERE: return found
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
                               "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                               "see https://github.com/pytorch/pytorch/pull/103001")
        if self._k.special.__class__ is layout:
            twin = memo[id(self)] = above.sparse_methods().deep_copy(self)
            if self.grad is not None:
                twin.grad = deepcopy(self.grad, memo)
            return twin
        if self.is_nested:
            raise above.nested_methods().refused("new_empty")
        if type(self) is not Tensor:
            return self._copied_with_slots(memo)
        if bits_of(self) is None:
            return super().__deepcopy__(memo)
        plain = self.detach().resolve_conj().resolve_neg().requires_grad_(self.requires_grad)
        memo[id(self)] = plain
        return plain

    def _copied_with_slots(self, memo: dict[int, Any]) -> "Tensor":
        """A copy of an instance of a subclass, which a wrapper without memory makes itself, with what its slots hold."""
        memory = carries_out(type(self)) and not self._data.flags.writeable  # which none of its own is
        if memory or self._hollow or self._k.device.type == "meta":
            with no_grad():
                twin = self.clone()
            if type(twin) is not type(self):
                raise RuntimeError(
                    "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that implement "
                    "clone() and for which cloning returns another instance of the same subclass. You should either properly implement "
                    "clone() for your subclass or override __deepcopy__() if it is intended behavior for clone() to return an instance "
                    "of a different type.")
            twin.requires_grad_(self.requires_grad)
            twin.grad = deepcopy(self.grad, memo)
            if self._hollow:  # and its mode, which is the same
                twin._is_param = self._is_param
            else:
                twin.__dict__.update(deepcopy(self.__dict__, memo))
            memo[id(self)] = twin
        else:
            with no_grad(), DisableTorchFunctionSubclass():
                made = self.new_empty([])
            if type(made) is not type(self):
                raise RuntimeError(
                    "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that implement "
                    "new_empty() and for which that function returns another instance of the same subclass. You should either properly "
                    "implement new_empty() for your subclass or override __deepcopy__() if it is intended behavior for new_empty() to "
                    "return an instance of a different type.")
            twin = super().__deepcopy__(memo)
        slot_names: Callable[[type], list[str]] = vars(copyreg)["_slotnames"]
        for name in slot_names(type(self)):
            if not hasattr(Tensor, name) and hasattr(self, name):
                setattr(twin, name, deepcopy(getattr(self, name), memo))
        return twin

    def __copy__(self) -> "Tensor":
        t = self.detach() if bits_of(self) is not None else super()._replica(self._data)
        t._node = LEAF if self.requires_grad else None
        return t

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Tensor goes by None: it calls itself torch.Tensor, which pickle could not import without the alias.
        cls = None if type(self) is Tensor else type(self)
        if self._k.special.__class__ is layout:
            return above.rebuilder("_rebuild_sparse_tensor"), above.sparse_methods().saved_parts(self, tuple)
        if self.is_nested:
            return above.rebuilder("_rebuild_nested_tensor"), above.nested_methods().saved_parts(self)
        if self._k.device.type == "meta":
            made = above.rebuilder("_rebuild_meta_tensor_no_storage")
            geometry = (self._k.dtype, tuple(self.shape), self.stride(), self.requires_grad)
            if cls is None:
                return (made, geometry, dict(self.__dict__) or None)
            return (above.rebuilder("_rebuild_from_type_v2"), (made, cls, geometry, dict(self.__dict__)))
        bits = bits_of(self)
        if bits is not None:
            memory = self.detach()
            memory._k = with_bits(self._k, False, False)
            return (marked, (memory.requires_grad_(self.requires_grad), bits.conj, bits.neg))
        return (above.rebuild, (cls, np.ascontiguousarray(self._data).tobytes(), self._k.dtype.name, self._data.shape,
                           str(self._k.device), self.requires_grad, dict(self.__dict__)))

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)

    def share_memory_(self) -> "Tensor":
        """Moves the memory to where processes share it, with all tensors that look at it; itself."""
        self.untyped_storage()._share(self)
        return self

    def is_shared(self) -> bool:
        """Whether the memory is shared between processes."""
        return self.untyped_storage().is_shared()

    def is_pinned(self, device: DeviceLike | None = None) -> bool:
        """Whether the memory is page-locked; never here."""
        return False

    def pin_memory(self, device: DeviceLike | None = None) -> "Tensor":
        """Refuses: no device here reads page-locked memory."""
        if self._k.device.type != "cpu":
            place = {"meta": "Meta", "cuda": "CUDA"}.get(self._k.device.type, self._k.device.type.upper())
            raise RuntimeError(f"cannot pin '{place}{SCALAR_TYPE_NAMES[self._k.dtype.name]}Type' only dense CPU tensors can be pinned")
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def is_set_to(self, tensor: "Tensor") -> bool:
        """Whether both look at the same memory in the same way."""
        if self._k.special.__class__ is layout:
            raise above.sparse_methods().refused(self, "is_set_to")
        mine, its = self._data, tensor._data
        same = self.data_ptr() == tensor.data_ptr() and mine.shape == its.shape and mine.strides == its.strides
        return same and (self._data.size > 0 or self.untyped_storage() is tensor.untyped_storage())

    def apply_(self, function: Callable[[Any], Any]) -> "Tensor":
        """Replaces each element by `function(element)`."""
        return self._mapped("apply_", function)

    def map_(self, other: "Tensor", callable: Callable[[Any, Any], Any]) -> "Tensor":
        """Replaces each element a by `callable(a, b)` with b from `other`."""
        return self._mapped("map_", callable, other=other)

    def map2_(self, x: "Tensor", y: "Tensor", callable: Callable[[Any, Any, Any], Any]) -> "Tensor":
        """Replaces each element a by `callable(a, b, c)` with b from `x` and c from `y`."""
        return self._mapped("map2_", callable, x=x, y=y)

    def _mapped(self, name: str, function: Fn, **others: "Tensor") -> "Tensor":
        tensors = (self, *others.values())
        for t in tensors:
            t._needs_data(name)
        if any([t._node is not None for t in tensors]):
            raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
        for argument, t in others.items():
            if t._k.dtype is not self._k.dtype:
                where = f"argument '{argument}'" if len(others) > 1 else f"'{argument}'"
                raise TypeError(f"{name}: expected {_type_string(self)} for {where} (got {_type_string(t)})")
        columns = [values(self)] + [values(t.expand(self._data.shape)) for t in others.values()]
        flat = [function(*row) for row in zip(*[c.ravel().tolist() for c in columns])]
        for value in flat:
            if not isinstance(value, (bool, int, float, complex, np.generic)):
                raise TypeError(f"must be real number, not {type(value).__name__}")
        self._data[...] = frontend.stored(self, np.array(flat, self._k.np).reshape(self._data.shape))
        frontend.bump(self)
        return self

    def as_subclass(self, cls: Any) -> "Tensor":
        """The same tensor as an instance of a subclass.

        Raises:
            TypeError: `cls` is no class of tensors.
        """
        if not isinstance(cls, type):
            raise TypeError(f"cls must be a type (got {type(cls).__name__})")
        if not issubclass(cls, Tensor):
            raise TypeError("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
                            "class inherits from Tensor.")
        if self._data.__class__ is not np.ndarray:  # what lies elsewhere has no views
            t = _new(cls)
            t._data, t._k, t._node, t._v, t._base = self._data, _kind_for(cls, self._k), self._node, self._v, self._base
            return t
        with DisableTorchFunction():
            view: Any = frontend.basic_alias(self, (Ellipsis,))
        if hasattr(view, "_level"):  # a transform's tensors have a class of their own
            return cast("Tensor", view)
        k = _kind_for(cls, view._k)
        try:
            view.__class__ = cls
            t = view
        except TypeError:  # which has slots of its own
            t = _new(cls)
            t._data, t._v, t._base, t._node = view._data, view._v, view._base, view._node
            t._v.add_view(t)
        t._k = k
        return cast("Tensor", t)

    @staticmethod
    def _make_wrapper_subclass(cls: _TensorMeta, size: Size | tuple[int, ...], **options: object) -> "Tensor":
        return above.make_wrapper_subclass(cls, size, **options)

    @staticmethod
    def _make_subclass(cls: Any, data: "Tensor", require_grad: bool = False) -> "Tensor":
        t = _new(cls)
        t._data, t._v, t._base = data._data, None, None
        t._k = _kind_for(cls, data._k)
        t._node = frontend.leaf_node(t, require_grad)
        return t

    @classmethod
    def __torch_function__(cls, func: Any, types: Sequence[_TensorMeta], args: Any = (), kwargs: Any = None) -> Any:
        """What `torch.f(subclass instance)` does unless a subclass overrides it: run, and return the subclass."""
        if not all(issubclass(cls, t) for t in types) or isinstance(func, _OF_TORCH):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            return convert_results(func(*args, **(kwargs or {})), cls, func)

    @staticmethod
    def __torch_dispatch__(func: Fn, types: object, args: Arguments = (), kwargs: Keywords | None = None) -> Any:
        """What a class does with an operation that leaves operations as they are: carries it out, and asks no class and no mode."""
        with above.without_dispatch():
            return func(*args, **(kwargs or {}))

    def to_mindspore(self) -> Any:
        """A MindSpore tensor over the same memory where it is contiguous, else over a copy; without history."""
        return above.to_mindspore(self)


PLAIN_DISPATCH = Tensor.__torch_dispatch__


def carries_out(cls: type) -> bool:
    """Whether a class carries out operations itself, by a `__torch_dispatch__` of its own."""
    found = getattr(cls, "__torch_dispatch__", None)
    return found is not None and found is not PLAIN_DISPATCH


_PYTHON_NUMBERS = frozenset([int, float, bool, complex])
Tensor.__module__ = "torch"
frontend = TorchFrontend(Tensor, "torch")
"""All operations as functions of Tensors."""


# -- what the methods share ----------------------------------------------------------------------------------------


def default_np() -> np.dtype:
    """The NumPy dtype of Python floats."""
    return default_dtype().np


def _is_default(dtype: DType) -> bool:
    default = default_dtype()
    return dtype is default or dtype in (int64, bool_) or dtype.is_complex and dtype is default.to_complex()


def _blank(cls: Any, array: np.ndarray, k: Kind | None = None) -> Tensor:
    t = _new(cls)
    t._data, t._k = array, CPU_KINDS[array.dtype] if k is None else k
    if cls is not Tensor:
        t._k = _kind_for(cls, t._k)
    t._node = t._v = t._base = None
    return t


def _kind_for(cls: type, k: Kind) -> Kind:
    """The kind of an instance of `cls`: special where the class overrides torch functions."""
    plain = k.special if k.special.__class__ in (Bits, layout, nested_layout) else None
    if cls is Tensor or getattr(cls, "_plain", False):
        return kind(k.dtype, k.device, plain, k.inference)
    look_for_classes()
    if carries_out(cls):
        above.look_for_dispatch()
    return kind(k.dtype, k.device, cls, k.inference)


def _rebuild_from_type_v2(func: Fn, new_type: type, args: Arguments, state: object) -> "Tensor":
    """The tensor that a pickle of one of a class, or with attributes, stands for."""
    made: Tensor = above.rebuilder("torch._tensor._rebuild_from_type_v2")(func, new_type, args, state)
    return made


def _real(value: complex, name: str) -> float:
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return value.real


_C_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long int",
            "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long", "float16": "c10::Half",
            "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
            "complex128": "c10::complex<double>"}
"""What torch calls data types where it names those of C++."""


def _history(t: Tensor) -> Any:
    """The node of a tensor that has one; None for a view made without recording. Raises for a view whose memory was changed in a way
    that left it no history."""
    node = t._node
    if node._tag == 2:
        return node.entry
    if node.forbids is not None:
        raise RuntimeError(node.forbids)
    return None if node.__class__ is NoGradView else node


def _type_string(t: Tensor) -> str:
    device = "" if t._k.device.type == "cpu" else t._k.device.type + "."
    dtype = t._k.dtype
    if t.is_mkldnn:
        raise RuntimeError("Unimplemented backend MkldnnCPU")
    if t._k.special.__class__ is layout:
        device += t._k.special.name.replace("_coo", "") + "."
    return f"torch.{'quantized.' * (dtype.group == 'quantized')}{device}{dtype.scalar}Tensor"


def _of_package(name: str, package: str) -> Fn:
    """A method that the package of sparse tensors has, or that of nested ones."""
    def method(self: object, *args: object, **kwargs: object) -> object:
        if TO_ALL:
            behind = method if hasattr(method, "door") else frontend.passing(method)  # made late, as most programs need none
            if (found := passed(behind, (self, args, kwargs))) is not HERE: return found
        return getattr(getattr(above, package)(), name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`torchcompat.{package.partition('_')[0]}`'s: {name.strip('_').replace('_', ' ')}."
    return method


for _name in ("_coalesced_", "_dimI", "_dimV", "_indices", "_nnz", "_values", "ccol_indices", "coalesce", "col_indices", "crow_indices",
              "dense_dim", "indices", "is_coalesced", "resize_as_sparse_", "row_indices", "smm", "sparse_dim", "sparse_mask",
              "sparse_resize_", "sparse_resize_and_clear_", "sspaddmm", "to_dense", "to_mkldnn", "to_sparse", "to_sparse_bsc",
              "to_sparse_bsr", "to_sparse_csc", "to_sparse_csr", "values"):
    setattr(Tensor, _name, _of_package(_name, "sparse_methods"))
for _name in ("to_padded_tensor", "_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets"):
    setattr(Tensor, _name, _of_package(_name, "nested_methods"))
install_methods(Tensor, frontend)
WITHOUT.add(Tensor)
for _name, _present in (("nonzero", "bool"), ("long", "int"), ("div", "truediv"), ("idiv", "itruediv")):
    same_method(Tensor, f"__{_name}__", f"__{_present}__")  # of Python 2, which torch has still
for _name in ("detach", "item", "__bool__", "__int__", "__float__", "__deepcopy__", "__dlpack__", "__dlpack_device__"):
    frontend.passing(getattr(Tensor, _name))
