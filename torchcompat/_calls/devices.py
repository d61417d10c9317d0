"""Functions of devices that are not there: by their signatures, with what comes of a call that fits one.

A build of torch without a device has all functions of it. Some answer (no devices, no bytes), most refuse. So the modules of devices are
tables: outcomes, and the signatures of all functions that have them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from autograd_tape.annotations import Fn, Keywords
from autograd_tape.codegen import execute
from autograd_tape.dtypes import Device
from autograd_tape.errors import ExecutorUnavailableError
from autograd_tape.executors import executor_for

NOT_COMPILED = {
    "cuda": "Torch not compiled with CUDA enabled",
    "xpu": "Torch not compiled with XPU enabled",
    "mtia": "Torch not compiled with MTIA enabled. Ensure you have `import mtia.host_runtime.torch_mtia.dynamic_library` in your python "
            "src file and include `//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!",
}
"""From device types to what is said where one is used and is not there."""
Outcome = Callable[[str], Any]
"""From the name of a function to what it gives."""


def refusing(device: str) -> Outcome:
    """AssertionError: a device of this type is not there."""
    return raising(AssertionError, NOT_COMPILED[device])


def raising(error: type[Exception], text: str) -> Outcome:
    """An error; "{}" in its text is the name of the function."""

    def outcome(name: str) -> NoReturn:
        raise error(text.replace("{}", name))

    return outcome


def giving(make: Callable[[], Any]) -> Outcome:
    """What `make` makes, anew for each call."""
    return lambda name: make()


def lacking(internal: str) -> Outcome:
    """AttributeError: of a function that torch has with the device alone; "{}" is the name of the one that was called."""
    return raising(AttributeError, f"module 'torch._C' has no attribute '{internal}'")


nothing: Outcome = giving(lambda: None)


def functions(module: str, table: list[tuple[Outcome, str]]) -> Keywords:
    """The functions of a table: outcomes, each with signatures that are separated by semicolons.

    >>> functions("torch.cuda", [(giving(lambda: 0), "device_count(); memory_allocated(device=None)")])["memory_allocated"]("cuda")
    0
    """
    return {name: function(module, signature.strip(), outcome)
            for outcome, signatures in table for signature in signatures.split(";") if (name := signature.partition("(")[0].strip())}


def function(module: str, signature: str, outcome: Outcome) -> Fn:
    """A function of this name and these parameters."""
    name = signature.partition("(")[0]
    made = execute(f"def {signature}: return _outcome({name!r})\n", name, f"<{module}.{name}>", {"_outcome": outcome})
    made.__module__, made.__doc__ = f"torchcompat{module[5:]}", "As in a build of torch without this device."
    return made


def dummy(module: str, name: str, methods: str = "", error: Outcome | None = None, signature: str = "*args, **kwargs") -> type[Any]:
    """A class that has no objects where its device is not there: making one is refused. It has the class's `methods` for subclasses."""
    refused = error or raising(RuntimeError, f"Tried to instantiate dummy base class {name}")
    found = functions(module, [(refused, f"__new__(cls, {signature}); {methods}")])
    for method in found.values():
        method.__qualname__ = f"{name}.{method.__name__}"
    return type(name, (), {**found, "__module__": f"torchcompat{module[5:]}", "__doc__": "Has no objects: its device is not there."})


def not_there(error: ExecutorUnavailableError) -> Exception:
    """What torch raises where tensors are asked for on a device that is not there. What the tape says of it, and the remedy, is a note."""
    device, text = error.device_type, str(error.as_builtin())
    if device in NOT_COMPILED:
        found: Exception = AssertionError(NOT_COMPILED[device])
    elif device in ("hpu", "privateuseone"):
        found = ModuleNotFoundError(f"No module named 'torch.{device}'", name=f"torch.{device}")
    elif device in ("ipu", "vulkan", "xla", "lazy"):
        found = RuntimeError(f"PyTorch is not linked with support for {device} devices")
    else:
        return error.as_builtin()
    found.add_note(text)
    return found


def there(device: Device) -> None:
    """Raises what torch raises where a device is not there."""
    try:
        executor_for(device)
    except ExecutorUnavailableError as error:
        raise not_there(error) from None
