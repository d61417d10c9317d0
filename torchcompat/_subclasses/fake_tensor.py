"""torch._subclasses.fake_tensor: tensors without elements that say they are on a device.

>>> import torchcompat as torch
>>> from torchcompat._subclasses import FakeTensorMode
>>> with FakeTensorMode():
...     layer = torch.nn.Linear(100_000, 100_000)
...     print(layer(torch.empty(2, 100_000)))
FakeTensor(..., size=(2, 100000), grad_fn=<AddmmBackward0>)
>>> layer.weight.device, layer.weight.fake_device, layer.weight.numel()
(device(type='cpu'), device(type='cpu'), 10000000000)
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torchcompat as torch
from autograd_tape.annotations import Arguments, DeviceLike, Keywords
from autograd_tape.dtypes import CPU, Device, kind
from autograd_tape.ops._host import BY_VALUES, NO_ITEM
from autograd_tape.strided import owner_of

from .._calls.absent import absences as _absences
from .._tensor import Tensor, _blank, carries_out
from ..library import Tag
from ..overrides import DisableTorchFunctionSubclass, TorchFunctionMode
from ..utils import _pytree as pytree
from ..utils._python_dispatch import TorchDispatchMode, _DisableTorchDispatch, _disable_current_modes, _get_current_dispatch_mode_stack
from .meta_utils import MetaConverter

CONSTANT_NUMEL_LIMIT = 1
"""How many elements a tensor of the program's own numbers may have for its value to be kept."""
_META = Device("meta")


@dataclass
class DynamicOutputShapeException(RuntimeError):
    """How many elements come out of `func` depends on the elements that go in, and there are none."""

    func: object


@dataclass
class DataDependentOutputException(RuntimeError):
    """`func` asks for a value, and there is none."""

    func: object


@dataclass
class UnsupportedOperatorException(RuntimeError):
    """Nothing says what comes out of `func`."""

    func: object


@dataclass
class UnsupportedFakeTensorException(RuntimeError):
    """A tensor of which there can be no fake."""

    reason: str


@dataclass
class MetadataMismatchError(RuntimeError):
    """A fake differs from what it stands for."""

    reason: str


class FakeTensorDeviceMismatchError(RuntimeError):
    """The tensors of an operation say that they are on different devices."""


def _placed(device: DeviceLike) -> Device:
    """A device with its number, where it has one."""
    found = Device(device)
    return Device(f"{found.type}:0") if found.index is None and found.type not in ("cpu", "meta") else found


class FakeTensor(Tensor):
    """A tensor without elements that says it is on a device: of the size, strides, dtype and memory, if not its elements, of a meta tensor.

    Args:
        fake_mode: the mode that carries out what is done with it.
        elem: the meta tensor.
        device: what it says where it is.
        constant: the tensor that it is, where its value is known.

    Raises:
        AssertionError: `elem` is no meta tensor.
    """

    fake_mode: FakeTensorMode
    _constant: Tensor | None = None
    _hollow = True

    @staticmethod
    def __new__(cls, fake_mode: FakeTensorMode, elem: Tensor, device: DeviceLike, constant: Tensor | None = None,
                **state: object) -> FakeTensor:
        if elem._k.device.type != "meta":
            raise AssertionError(f"elem.device.type must be 'meta', got {elem._k.device.type}")
        made: Any = _blank(cls, elem._data, kind(elem._k.dtype, _placed(device), inference=elem._k.inference))
        made.fake_mode, made._constant = fake_mode, constant
        if elem.requires_grad:
            made.requires_grad = True
        return made

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    @property
    def constant(self) -> Tensor | None:
        """The tensor that it is, where its value is known and was not written to."""
        known = self._constant
        return known if known is not None and known.shape == self.shape else None

    @property
    def fake_device(self) -> Device:
        """Where it says that it is."""
        return self._k.device

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """The fake of a tensor."""
        return fake_mode.from_tensor(t)

    def _as_meta(self) -> Tensor:
        """The meta tensor of the same memory."""
        return _blank(Tensor, self._data, kind(self._k.dtype, _META, None, self._k.inference))

    @classmethod
    def _without_elements(cls, sized: bool = False) -> RuntimeError:
        """The error where elements are asked for; where a size depends on them, if `sized`."""
        if sized:
            return DynamicOutputShapeException(torch.ops.aten.nonzero.default)
        return DataDependentOutputException(torch.ops.aten._local_scalar_dense.default)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Arguments = (), kwargs: Keywords | None = None) -> Any:
        mode = next(t.fake_mode for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, FakeTensor))
        if _foreign(types):
            return NotImplemented
        with mode:
            return func(*args, **kwargs or {})


def _foreign(types: Any) -> bool:
    """Whether one of some classes of tensors carries operations out itself."""
    return any([not issubclass(t, FakeTensor) and carries_out(t) for t in types])


class FakeTensorConverter:
    """Makes fakes of tensors: the same fake of the same tensor, over the same memory of tensors that share theirs."""

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self.meta_converter = MetaConverter(copy_data=copy_data)
        self.export = export
        self.constant_storage_mapping: dict[int, list[weakref.ref[FakeTensor]]] = {}

    @property
    def tensor_memo(self) -> Any:
        """What tensors became, by the tensors."""
        return self.meta_converter.tensor_memo

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Tensor, make_constant: bool = False, shape_env: object = None, *,
                         source: object = None, symbolic_context: object = None, trace: bool = True) -> FakeTensor:
        """The fake of a tensor.

        Args:
            make_constant: whether its value is to be known, and the fake one of its own.

        Raises:
            UnsupportedFakeTensorException: it is not one of strides and memory.
        """
        if make_constant:
            made = FakeTensor(fake_mode, self.meta_converter.like(t), t.device, constant=t)
            self.constant_storage_mapping.setdefault(_memory_of(t), []).append(weakref.ref(made))
            return made
        with _disable_current_modes():
            found: Any = self.meta_converter(t, callback=lambda make: FakeTensor(fake_mode, make(), t.device))
        if found is NotImplemented:
            raise UnsupportedFakeTensorException("meta converter nyi")
        if isinstance(t, torch.nn.Parameter):
            found._is_param = True
        return found

    def from_meta_and_device(self, fake_mode: FakeTensorMode, t: Tensor, device: DeviceLike) -> FakeTensor:
        """The fake of a meta tensor that says it is on a device."""
        return FakeTensor(fake_mode, t, device)

    def invalidate_constant_aliases(self, constant: Tensor | None) -> None:
        """Forgets the values of fakes that share memory with a known value."""
        for ref in () if constant is None else self.constant_storage_mapping.pop(_memory_of(constant), ()):
            fake = ref()
            if fake is not None:
                fake._constant = None


def _memory_of(t: Tensor) -> int:
    return id(owner_of(t._data))


def _known(t: Tensor) -> bool:
    """Whether a tensor's value may be kept."""
    return t.numel() <= CONSTANT_NUMEL_LIMIT and t.layout is torch.strided and not isinstance(t, FakeTensor) and t._k.device.type != "meta"


class FakeTensorMode(TorchDispatchMode):
    """Inside, tensors are fakes, and what is done with them gives fakes: nothing is computed, and no memory is taken.

    Args:
        allow_fallback_kernels: kept.
        allow_non_fake_inputs: whether other tensors are taken for the fakes of them.

    Raises (from operations inside):
        AssertionError: one of the tensors is no fake, or one of another mode.
        DataDependentOutputException: the program asks for a value.
        DynamicOutputShapeException: the size of the result depends on values.
        FakeTensorDeviceMismatchError: the tensors say that they are on different devices.
    """

    def __init__(self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: object = None,
                 static_shapes: bool | None = None, export: bool = False) -> None:
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.static_shapes, self.export = shape_env, shape_env is None if static_shapes is None else static_shapes, export
        self.fake_tensor_converter = FakeTensorConverter(export=export)
        self.in_kernel_invocation = False

    def from_tensor(self, tensor: Tensor, *, static_shapes: bool | None = None, source: object = None, symbolic_context: object = None,
                    trace: bool = True) -> FakeTensor:
        """The fake of a tensor in this mode: a leaf where that is one, a view of the fake of its base, with the fake of its gradient."""
        if self.is_our_fake(tensor):
            return tensor  # type: ignore[return-value]
        return self.fake_tensor_converter.from_real_tensor(self, tensor)

    def is_our_fake(self, t: object) -> bool:
        """Whether something is a fake of this mode."""
        return isinstance(t, FakeTensor) and t.fake_mode is self

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented if _foreign(types) else self.dispatch(func, types, args, kwargs)

    def dispatch(self, func: Any, types: object, args: Arguments = (), kwargs: Keywords | None = None) -> Any:
        """What an operation gives."""
        kwargs = kwargs or {}
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if func._opname == "lift_fresh" and not isinstance(args[0], FakeTensor):
            first: Any = args[0]
            return self.fake_tensor_converter.from_real_tensor(self, first, make_constant=_known(first))
        home = next((t._k.device for t in leaves if isinstance(t, FakeTensor) and t._k.device.type != "meta"), _META)
        leaves = [self._taken(x, home, lambda: _shown(func, args, kwargs)) if isinstance(x, Tensor) else x for x in leaves]
        fakes: list[FakeTensor] = [x for x in leaves if isinstance(x, FakeTensor)]
        known = self._computed(func, leaves, spec, fakes)
        if known is not NotImplemented:
            return known
        self._forget_written(func, args, kwargs, fakes)
        if Tag.data_dependent_output in func.tags:
            raise DataDependentOutputException(func)
        return self._carried_out(func, leaves, spec, fakes)

    def _taken(self, x: Tensor, home: Device, shown: Callable[[], str]) -> FakeTensor:
        """A tensor of the arguments as a fake of this mode; meta tensors, which gradients save, as fakes that are where the others are."""
        if self.is_our_fake(x):
            return x  # type: ignore[return-value]
        if isinstance(x, FakeTensor):
            raise AssertionError(f"Mixing fake modes NYI x.fake_mode={x.fake_mode} vs self={self}")
        if x._k.device.type == "meta":
            return FakeTensor(self, x, home)
        if not self.allow_non_fake_inputs:
            raise AssertionError("Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                                 f"'allow_non_fake_inputs'. Found in {shown()}")
        return self.from_tensor(x)

    def _computed(self, func: Any, leaves: list[Any], spec: Any, fakes: list[FakeTensor]) -> Any:
        """What comes out where all tensors' values are known, and few; NotImplemented elsewhere."""
        if not fakes or any([t.constant is None for t in fakes]) or Tag.nondeterministic_seeded in func.tags:
            return NotImplemented
        args, kwargs = pytree.tree_unflatten([x.constant if isinstance(x, FakeTensor) else x for x in leaves], spec)
        with _DisableTorchDispatch():
            found = func(*args, **kwargs)
            made = [x for x in pytree.tree_leaves(found) if isinstance(x, Tensor)]
            if not all([_known(t) for t in made]):
                for t in fakes:  # what comes out may be of their memory, and be written to
                    self.fake_tensor_converter.invalidate_constant_aliases(t.constant)
                return NotImplemented
            same = {id(t.constant): t for t in fakes}
            convert = self.fake_tensor_converter.from_real_tensor
            return pytree.tree_map_only(Tensor, lambda t: same[id(t)] if id(t) in same else convert(self, t, make_constant=True), found)

    def _forget_written(self, func: Any, args: Arguments, kwargs: Keywords, fakes: list[FakeTensor]) -> None:
        """Forgets the values of what an operation writes to."""
        if not any([t.constant is not None for t in fakes]) or not func._schema.is_mutable:
            return
        for i, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                given = kwargs.get(argument.name, args[i] if i < len(args) else None)
                for t in pytree.tree_leaves(given):
                    if isinstance(t, FakeTensor) and t.constant is not None:
                        self.fake_tensor_converter.invalidate_constant_aliases(t.constant)

    def _carried_out(self, func: Any, leaves: list[Any], spec: Any, fakes: list[FakeTensor]) -> Any:
        """What an operation gives on meta tensors, as fakes on the device where it would be."""
        metas = {id(t): t._as_meta() for t in fakes}
        args, kwargs = pytree.tree_unflatten([metas.get(id(x), x) for x in leaves], spec)
        asked = kwargs.get("device")
        device = _common_device(func, fakes) if asked is None else _placed(asked)
        if asked is not None:
            if fakes and func._opname == "_to_copy" and device.type not in ("cpu", "meta"):
                raise RuntimeError(f"PyTorch is not linked with support for {device.type} devices")
            kwargs["device"] = _META
        elif not fakes and any([a.name == "device" for a in func._schema.arguments]):
            kwargs["device"] = _META
        try:
            with _DisableTorchDispatch(), DisableTorchFunctionSubclass():
                found = func(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as error:
            if BY_VALUES in str(error):
                raise DynamicOutputShapeException(func) from None
            if str(error) == NO_ITEM:
                raise DataDependentOutputException(func) from None
            raise
        given = {id(metas[id(t)]): t for t in fakes}
        for t in fakes:  # whose geometry an operation in place may have changed
            if metas[id(t)]._data is not t._data:
                t._data = metas[id(t)]._data

        def faked(t: Tensor) -> Tensor:
            known = given.get(id(t))
            if known is None and t._k.device.type != "meta":  # what is made of numbers alone
                return self.fake_tensor_converter.from_real_tensor(self, t)
            return FakeTensor(self, t, device) if known is None else known

        return pytree.tree_map_only(Tensor, faked, found)


def _common_device(func: object, fakes: list[FakeTensor]) -> Device:
    """The one device of an operation's tensors, those of no dimension on the CPU aside; the first that is written to or indexed decides
    where others may lie on the CPU. FakeTensorDeviceMismatchError where there are several."""
    devices = list(dict.fromkeys([t._k.device for t in fakes if t.dim() or t._k.device.type != "cpu"])) or [t._k.device for t in fakes[:1]]
    if len(devices) > 1:
        if getattr(func, "_opname", "") in ("copy_", "index", "index_put", "index_put_"):
            return fakes[0]._k.device
        raise FakeTensorDeviceMismatchError("Expected all tensors to be on the same device, but found at least two devices, "
                                            f"{devices[0]} and {devices[1]}!")
    return devices[0] if devices else CPU


def _shown(func: object, args: Arguments, kwargs: Keywords) -> str:
    """A call without elements of tensors."""
    def text(x: object) -> str:
        if isinstance(x, (tuple, list)):
            inner = ", ".join(map(text, x))
            return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' * (len(x) == 1)})"
        if not isinstance(x, Tensor) or isinstance(x, FakeTensor):
            return repr(x)
        return "Parameter containing:\n" * x._is_param + f"tensor([...], size={tuple(x.shape)}{', requires_grad=True' * x.requires_grad})"

    return f"{func}({', '.join([*map(text, args), *[f'{k}={text(v)}' for k, v in kwargs.items()]])})"


class FakeCopyMode(TorchFunctionMode):
    """Inside, `copy.deepcopy` and `clone` give fakes of a mode.

    >>> import copy, torchcompat as torch
    >>> with FakeCopyMode(FakeTensorMode()):
    ...     copied = copy.deepcopy(torch.nn.Linear(2, 3))
    >>> copied.weight
    Parameter(FakeTensor(..., size=(3, 2), requires_grad=True))
    """

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.clone or func is torch.clone:
            return func(self.fake_mode.from_tensor(args[0]), **kwargs)
        if func is Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor)
            return memo[id(tensor)]
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)


def is_fake(x: object) -> bool:
    """Whether a tensor only stands for one."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """The mode of a fake; None of anything else."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost mode of this thread that makes fakes; None outside of all."""
    found = [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, FakeTensorMode)]
    return found[-1] if found else None


_absences(__name__)
