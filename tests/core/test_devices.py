"""Tensors of different devices share no memory; what is copied between them, and what a meta tensor refuses. The devices that are not
here are served by NumPy's executor, so that their tensors exist."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors import choose, get_executor
from torchcompat import nn

DEVICES = ("cpu", "npu", "cuda")


@pytest.fixture(autouse=True)
def devices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All devices can be used."""
    for device in ("npu", "cuda"):
        monkeypatch.setitem(choose._chosen, device, get_executor("numpy"))
    yield


# -- memory -------------------------------------------------------------------------------------------------------------------------

MOVES: dict[str, Callable[[Any, str], Any]] = {
    "to": lambda t, d: t.to(d),
    "to device=": lambda t, d: t.to(device=d),
    "to dtype": lambda t, d: t.to(d, t.dtype),
    "to other dtype": lambda t, d: t.to(d, torch.float64),
    "to like": lambda t, d: t.to(torch.zeros(1, device=d, dtype=t.dtype)),
    "to copy": lambda t, d: t.to(d, copy=True),
    "to non-blocking": lambda t, d: t.to(d, non_blocking=True),
    "to format": lambda t, d: t.to(d, memory_format=torch.contiguous_format),
    "cpu, cuda, npu": lambda t, d: getattr(t, d)(),
    "type": lambda t, d: t.type(f"torch.{d}.FloatTensor" if d != "cpu" else "torch.FloatTensor"),
    "type_as": lambda t, d: t.type_as(torch.zeros(1, device=d)),
    "as_tensor": lambda t, d: torch.as_tensor(t, device=d),
    "asarray": lambda t, d: torch.asarray(t, device=d),
    "copy_": lambda t, d: torch.zeros(t.shape, device=d).copy_(t),
    "detach": lambda t, d: t.detach().to(d),
    "data": lambda t, d: t.data.to(d),
    "requires grad": lambda t, d: t.clone().requires_grad_().to(d).detach() if t.device.type != d else t.to(d),
    "view": lambda t, d: t.view(-1).to(d).view(t.shape),
    "storage": lambda t, d: torch.empty(0, device=d).set_(t.untyped_storage().to(device=d), t.storage_offset(), t.shape, t.stride()),
    "Module.to": lambda t, d: _module(t).to(d).p.data,
    "Module.cpu, cuda": lambda t, d: (getattr(_module(t), d)() if d != "npu" else _module(t).to(d)).p.data,
    "Module.to buffer": lambda t, d: _module(t).to(d).b,
    "Module.to_empty": lambda t, d: _module(t).to_empty(device=d).p.data,
    "load_state_dict": lambda t, d: _loaded(t, d),
}


def _module(t: Any) -> Any:
    module: Any = nn.Module()
    module.p, module.b = nn.Parameter(t), nn.Buffer(t)
    return module


def _loaded(t: Any, device: str) -> Any:
    module = _module(torch.zeros(t.shape, device=device))
    module.load_state_dict(_module(t).state_dict())
    return module.p.data


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda t: t, "transposed": lambda t: t.t(), "slice": lambda t: t[:, 1:], "0-dim": lambda t: t[0, 0],
}


@pytest.mark.parametrize("source, target", [p for p in itertools.product(DEVICES, DEVICES) if p[0] != p[1]])
@pytest.mark.parametrize("name", MOVES)
def test_memory_is_never_shared_between_devices(name: str, source: str, target: str) -> None:
    for layout, make in LAYOUTS.items():
        t = make(torch.arange(6.0, device=source).reshape(2, 3))
        if name == "view" and layout in ("transposed", "slice"):
            continue
        before = t.tolist()
        moved = MOVES[name](t, target)
        assert moved.device.type == target and t.device.type == source and moved.shape == t.shape
        assert not np.shares_memory(moved._data, t._data), layout
        if name != "Module.to_empty":
            assert moved.tolist() == before
        moved.add_(1)
        assert t.tolist() == before


@pytest.mark.parametrize("device", DEVICES)
def test_on_the_same_device_it_is_the_tensor_itself(device: str) -> None:
    t = torch.ones(2, device=device)
    assert t.to(device) is t and getattr(t, device)() is t and t.to(t) is t
    storage = t.untyped_storage()
    assert storage.to(device=device) is storage
    assert not np.shares_memory(t.to(device, copy=True)._data, t._data)


def test_layout_and_node_of_a_moved_tensor() -> None:
    x = torch.ones(3, 4, requires_grad=True)
    for device in ("npu", "meta"):
        assert x.t().to(device).stride() == (1, 4) and x.to(device).grad_fn.name() == "ToCopyBackward0"
        assert x.to(device, torch.int64).grad_fn is None
        assert torch.ones(3, 1).expand(3, 4).to(device).stride() == (4, 1)
        assert torch.ones(1, 2, 3, 4).to(device, memory_format=torch.channels_last).stride() == (24, 1, 8, 2)


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_come_back_to_the_device(create_graph: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.to("npu", torch.float64)
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (y * y).sum().backward(create_graph=create_graph)
    assert x.grad.tolist() == [2.0, 4.0] and x.grad.device.type == "cpu" and x.grad.dtype is torch.float32
    assert y.grad.device.type == "npu" and not np.shares_memory(x.grad._data, y.grad._data)


def test_copy_between_devices_is_recorded() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    target = torch.zeros(2, device="npu")
    target.copy_(x * 3)
    target.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and x.grad.device.type == "cpu"
    part = torch.zeros(3, device="npu")
    part[1:] = torch.ones(2)
    assert part.tolist() == [0.0, 1.0, 1.0]


def test_other_operations_want_one_device() -> None:
    a, b = torch.ones(2), torch.ones(2, device="npu")
    for operation in (lambda: a + b, lambda: a.add_(b), lambda: torch.cat([a, b])):
        with pytest.raises(RuntimeError, match="same device"):
            operation()
    with pytest.raises(RuntimeError, match="Attempting to copy from device cpu to device npu, but cross-device copies are not allowed!"):
        torch.add(a, a, out=b)
    assert b.tolist() == [1.0, 1.0]


# -- meta: (program, what torch gives: a value, or an exception and its text) -----------------------------------------------------


def M(*shape: int, **options: Any) -> Any:
    return torch.zeros(*shape, device="meta", **options)


def _data(t: Any, value: Any) -> Any:
    t.data = value
    return t


NO_DATA = NotImplementedError, "Cannot copy out of meta tensor; no data!"
SET_DATA = RuntimeError, "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
SET = RuntimeError, ('Attempted to set the storage of a tensor on device "cpu" to a storage on different device "meta".  This is no longer '
                     "allowed; the devices must match.")
MISMATCH = RuntimeError, "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
OUT = RuntimeError, "Attempting to copy from device {} to device {}, but cross-device copies are not allowed!"
NO_ACCESS = NotImplementedError, "Not available for 'meta' device type"
PROGRAMS: dict[str, tuple[Callable[[], Any], Any]] = {
    "meta.copy_(cpu)": (lambda: M(2).copy_(torch.ones(2)), "tensor(..., device='meta', size=(2,))"),
    "broadcast": (lambda: M(2, 3).copy_(torch.ones(3)), "tensor(..., device='meta', size=(2, 3))"),
    "complex": (lambda: M(2).copy_(torch.ones(2, dtype=torch.complex64)), "tensor(..., device='meta', size=(2,))"),
    "another shape": (lambda: M(2).copy_(torch.ones(3)), MISMATCH),
    "a leaf": (lambda: M(2, requires_grad=True).copy_(torch.ones(2)),
               (RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation.")),
    "version": (lambda: M(2).copy_(torch.ones(2, requires_grad=True))._version, "1"),
    "cpu.copy_(meta)": (lambda: torch.ones(2).copy_(M(2)), NO_DATA),
    "cpu.copy_(meta) shape": (lambda: torch.ones(2).copy_(M(3)), NO_DATA),
    "cpu.copy_(meta) 0-dim": (lambda: torch.ones(2).copy_(M(())), NO_DATA),
    "cpu.copy_(meta) empty": (lambda: torch.ones(0).copy_(M(0)), NO_DATA),
    "cpu[...] = meta": (lambda: torch.ones(3).__setitem__(slice(0, 2), M(2)), NO_DATA),
    "meta[...] = cpu": (lambda: M(3).__setitem__(slice(0, 2), torch.ones(2)), "None"),
    "to": (lambda: M(2).to("cpu"), NO_DATA),
    "cpu": (lambda: M(2).cpu(), NO_DATA),
    "tolist": (lambda: M(2).tolist(), NO_DATA),
    "numpy": (lambda: M(2).numpy(), (TypeError, "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                                                "host memory first.")),
    "item": (lambda: M(1).item(), (RuntimeError, "Tensor.item() cannot be called on meta tensors")),
    "backward": (lambda: torch.ones(2, requires_grad=True).to("meta").sum().backward(), NO_DATA),
    "data": (lambda: _data(torch.ones(2), M(2)), SET_DATA),
    "meta data": (lambda: _data(M(2), torch.ones(2)), SET_DATA),
    "set_": (lambda: torch.ones(2).set_(M(2)), SET),
    "set_ storage": (lambda: torch.ones(2).set_(M(2).untyped_storage()), SET),
    "grad": (lambda: setattr(torch.ones(2, requires_grad=True), "grad", M(2)),
             (RuntimeError, "attempting to assign a gradient with device type 'meta' to a tensor with device type 'cpu'. Please ensure "
                            "that the gradient and the tensor are on the same device")),
    "out": (lambda: torch.add(torch.ones(2), torch.ones(2), out=M(2)), (OUT[0], OUT[1].format("cpu", "meta"))),
    "out of meta": (lambda: torch.add(M(2), M(2), out=torch.ones(2)), (OUT[0], OUT[1].format("meta", "cpu"))),
    "storage.cpu": (lambda: M(2).untyped_storage().cpu(), NO_DATA),
    "storage.clone": (lambda: M(2).untyped_storage().clone().device, "device(type='meta')"),
    "storage.copy_": (lambda: torch.ones(2).untyped_storage().copy_(M(2).untyped_storage()), NO_DATA),
    "storage.copy_ to meta": (lambda: M(2).untyped_storage().copy_(torch.ones(2).untyped_storage()),
                              "...\n[torch.storage.UntypedStorage(device=meta) of size 8]"),
    "storage.tolist": (lambda: M(2).untyped_storage().tolist(), NO_ACCESS),
    "storage[0]": (lambda: M(2).untyped_storage()[0], NO_ACCESS),
    "storage.is_pinned": (lambda: torch.ones(2).untyped_storage().is_pinned(), "False"),
    "pin": (lambda: torch.ones(2).pin_memory(), (RuntimeError, "Cannot access accelerator device when none is available.")),
    "pin storage": (lambda: torch.ones(2).untyped_storage().pin_memory(),
                    (RuntimeError, "Cannot access accelerator device when none is available.")),
    "pin meta": (lambda: M(2).pin_memory(), (RuntimeError, "cannot pin 'MetaFloatType' only dense CPU tensors can be pinned")),
    "share": (lambda: M(2).share_memory_(), (RuntimeError, "_share_fd_: only available on CPU")),
    "is_shared": (lambda: M(2).is_shared(), "False"),
    "deepcopy": (lambda: copy.deepcopy(M(2)), "tensor(..., device='meta', size=(2,))"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_meta(name: str) -> None:
    program, expected = PROGRAMS[name]
    if isinstance(expected, str):
        assert repr(program()) == expected
        return
    with pytest.raises(expected[0]) as caught:
        program()
    assert str(caught.value) == expected[1] and type(caught.value) is expected[0]


# -- modules ------------------------------------------------------------------------------------------------------------------------

NO_OP = ("for {}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. (Did you "
         "mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the module instead of copying "
         "them in place?)")


def test_load_into_a_meta_module() -> None:
    model, state = nn.Linear(2, 2, device="meta"), nn.Linear(2, 2).state_dict()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert repr(model.load_state_dict(state)) == "<All keys matched successfully>"
    assert [str(w.message) for w in told] == [NO_OP.format("weight"), NO_OP.format("bias")]
    assert model.weight.is_meta
    model.load_state_dict(state, assign=True)
    assert not model.weight.is_meta and type(model.weight) is nn.Parameter and model.weight.requires_grad
    assert model.weight.data_ptr() == state["weight"].data_ptr() and model(torch.ones(2)).shape == (2,)


def test_load_a_meta_state() -> None:
    model, state = nn.Linear(2, 2), nn.Linear(2, 2, device="meta").state_dict()
    with pytest.raises(RuntimeError, match=r"an exception occurred : \('Cannot copy out of meta tensor; no data!',\)"):
        model.load_state_dict(state)
    model.load_state_dict(state, assign=True)
    assert model.weight.is_meta


def test_modules_leave_meta_empty() -> None:
    model = nn.Sequential(nn.Linear(2, 2, device="meta"), nn.BatchNorm1d(2, device="meta"))
    with pytest.raises(NotImplementedError, match=r"use torch.nn.Module.to_empty\(\) instead"):
        model.to("cpu")
    before = model[0].weight
    assert model.to_empty(device="cpu") is model and model[0].weight is not before and model[0].weight.requires_grad
    assert {t.device.type for t in model.state_dict().values()} == {"cpu"} and model[1].num_batches_tracked.dtype is torch.int64


def test_modules_move_with_their_gradients() -> None:
    model = nn.Linear(2, 2)
    model(torch.ones(2)).sum().backward()
    weight, data, grad = model.weight, model.weight.data, model.weight.grad.clone()
    model.to("npu")
    assert model.weight is weight and weight.device.type == weight.grad.device.type == "npu"
    assert weight.grad.tolist() == grad.tolist() and not np.shares_memory(weight._data, data._data)
