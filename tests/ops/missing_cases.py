"""What torch says of calls without arguments, of every function and method that is native to it and cannot do without."""

from __future__ import annotations

from typing import Any

from tests.recording import Table

from torchcompat._status.names import recorded

_NATIVE = ("builtin_function_or_method", "method_descriptor")


def names(torch: Any) -> list[str]:
    """Those that say what is missing."""
    found = [*recorded()[""], *[f"Tensor.{name}" for name in dir(torch.Tensor) if not name.startswith("_")]]
    import torchcompat

    native = {name for name in found if type(_find(torch, name)).__name__ in _NATIVE and "seed" not in name and "thread" not in name}
    return [name for name in sorted(native) if _find(torchcompat, name) is not None and " missing " in told(torch, name)]


def _find(torch: Any, name: str) -> Any:
    for part in name.split("."):
        torch = getattr(torch, part, None)
    return torch


def told(torch: Any, name: str) -> str:
    """The error."""
    given = (torch.ones(2, 2),) if name.startswith("Tensor.") else ()
    try:
        _find(torch, name)(*given)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "none"


TABLE = Table("missing_arguments", names, told, zipped=True)
