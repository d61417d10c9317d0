"""Parameters and buffers: tensors that a module counts as its own when they are assigned to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Self

from autograd_tape.annotations import Arguments, DeviceLike, Fn
from autograd_tape.calls import Door, Interceptor, listen_for_good
from autograd_tape.dtypes import Kind, kind
import torchcompat as torch
from torchcompat._calls.above import above
from torchcompat._tensor import Tensor, _TensorMeta, frontend
from torchcompat.overrides import disabled_torch_function

if TYPE_CHECKING:
    from autograd_tape.dtypes import DType

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _ParameterMeta(_TensorMeta):
    """Makes tensors of other classes with the flag `_is_param` instances of Parameter."""

    def __instancecheck__(self, instance: object) -> bool:
        if self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a parameter of the module it is assigned to.

    Args:
        data: the tensor, whose memory it shares; an empty one where None.
        requires_grad: whether gradients flow to it (also under `no_grad`).

    >>> Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]  # results are no parameters; it is asked for of the class
    _is_param = True
    _plain = True  # overrides no torch function, so operations on it are as quick as on a Tensor

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = torch.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)  # type: ignore[return-value]  # of that class
        # A tensor class of the caller's stays what it is, and is marked.
        t = data.detach().requires_grad_(requires_grad)
        if type(t) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an instance of "
                f"the same type, but return type {type(t).__name__} was found instead. To use the type as a Parameter, please "
                "correct the detach() semantics defined by its __torch_dispatch__() implementation.")
        t._is_param = True
        return t

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        found = memo.get(id(self))
        if found is None:
            data: Any = self.data
            found = memo[id(self)] = type(self)(data.clone(), self.requires_grad)
        return found

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # checkers drop the names of dunder parameters
        text: Any = super().__repr__
        return "Parameter containing:\n" + text(tensor_contents=tensor_contents)

    def __reduce_ex__(self, proto: Any) -> Arguments:
        state = {k: v for k, v in self.__dict__.items() if not k.startswith("_")}
        if state:
            return above.rebuilder("_rebuild_parameter_with_state"), (self.data, self.requires_grad, OrderedDict(), state)
        return above.rebuilder("_rebuild_parameter"), (self.data, self.requires_grad, OrderedDict())


class _BufferMeta(_TensorMeta):
    """Makes tensors with the flag `_is_buffer` instances of Buffer."""

    def __instancecheck__(self, instance: object) -> bool:
        if self is Buffer and getattr(instance, "_is_buffer", False) and isinstance(instance, Tensor):
            return True
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is a buffer of the module it is assigned to: part of its state, but not trained.

    Args:
        data: the tensor, whose memory it shares; an empty one where None.
        persistent: whether it is in the module's `state_dict`.
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = torch.empty(0)
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t


class UninitializedTensorMixin:
    """What parameters and buffers have in common whose shape is not known yet: no operation takes them, see `_Uninitialized`."""

    cls_to_become: type
    _k: Kind

    @classmethod
    def _made(cls, requires_grad: bool, device: DeviceLike | None, dtype: DType | None) -> Any:
        """One without elements, whose kind no quiet path takes."""
        listen_for_good(_UNINITIALIZED)
        t: Any = Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        t._k = kind(t._k.dtype, t._k.device, UninitializedTensorMixin)
        return t

    def materialize(self, shape: tuple[int, ...], device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        """Gives it a shape (and memory), and makes it an ordinary parameter or tensor.

        Args:
            shape: the sizes.
            device, dtype: those it was made with where None.
        """
        data = Tensor.data.__get__(self)
        self._k = kind(data._k.dtype, data._k.device)
        self.data = torch.empty(shape, device=device or data.device, dtype=dtype or data.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Raises RuntimeError: there is no shape yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
            "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
            "accessing their attributes.")

    @classmethod
    def _refusal(cls, function: Any) -> ValueError:
        """What a function says that would need the values; methods of tensors as torch shows them."""
        name = function.__name__
        if hasattr(Tensor, name) and name[:2] != "__":  # which of the two was called is not told here
            function = f"<method '{name}' of 'torch._C.TensorBase' objects>"
        return ValueError(f"Attempted to use an uninitialized parameter in {function}. This error happens when you are using a "
                          f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
                          "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Raises ValueError: only parameters can be copied before they have a shape."""
        raise self._refusal(Tensor.__deepcopy__)

    def share_memory_(self) -> Any:
        """Raises RuntimeError: there is no memory yet."""
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
                           "before calling `module.share_memory()`.")

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto: object) -> tuple[object, ...]:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]  # a mixin: the tensor has it


def _shapeless(name: str) -> Fn:
    """A method that would tell of the shape, or of elements."""
    def refused(self: UninitializedTensorMixin, *args: object, **kwargs: object) -> Any:
        raise self._refusal(getattr(Tensor, name))

    return refused


for _name in ("dim", "item", "ndimension", "nelement", "numel", "numpy", "stride", "tolist"):
    setattr(UninitializedTensorMixin, _name, _shapeless(_name))


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]  # the mixin's attributes win
    """A parameter whose shape is not known yet.

    Args:
        requires_grad: whether gradients will flow to it.
        device, dtype: of the parameter it becomes.
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: DeviceLike | None = None, dtype: DType | None = None) -> Any:
        return cls._made(requires_grad, device, dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return found


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]  # the mixin's attributes win
    """A buffer whose shape is not known yet.

    Args:
        requires_grad: whether gradients flow to it.
        device, dtype: of the buffer it becomes.
        persistent: whether it is in the module's `state_dict`.
    """

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: DeviceLike | None = None, dtype: DType | None = None,
                persistent: bool = True) -> Any:
        t = cls._made(requires_grad, device, dtype)
        t.persistent = persistent
        t._is_buffer = True
        return t

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass


class _Uninitialized(Interceptor):
    """Refuses operations on parameters without a shape, but for casts, copies and moves.

    Raises:
        ValueError: it is another one.
    """

    place = "function"
    all_functions = False
    frontend = frontend

    def meet(self, door: Door, args: Arguments, out: object, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> object:
        parts = [part for a in args for part in (a if isinstance(a, (tuple, list)) else (a,))]
        found = next((type(part) for part in parts if isinstance(part, UninitializedTensorMixin)), None)
        if found is None or door.rec in [f.record for f in (frontend.cast, frontend.copy_, frontend.transfer)]:  # type: ignore[attr-defined]
            return NotImplemented
        raise found._refusal(door.public(inplace))


_UNINITIALIZED = _Uninitialized()


def is_lazy(param: Tensor | None) -> bool:
    """Whether `param` is a parameter or buffer without a shape yet."""
    return isinstance(param, UninitializedTensorMixin)
