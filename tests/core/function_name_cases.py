"""What torch's functions that are written in Python call themselves: by this they are shown, pickled and looked up."""

from __future__ import annotations

from typing import Any

from tests.recording import Table

from torchcompat._status.names import dotted, recorded


def _resolve(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part, None)
    return root


def functions(torch: Any) -> list[str]:
    """Their dotted names, those of methods left out."""
    import torchcompat

    names = [dotted(module, name) for module, found in recorded().items() for name in found if "." not in name]
    return [name for name in names if type(_resolve(torch, name)).__name__ == "function" and callable(_resolve(torchcompat, name))]


def called(torch: Any, name: str) -> str:
    """Module and name, and the qualified one where that is another; where programs say `torch`."""
    function = _resolve(torch, name)
    own, whole = getattr(function, "__name__", ""), getattr(function, "__qualname__", "")
    return f"{function.__module__}.{own}".replace("torchcompat", "torch") + f" ({whole})" * (whole != own)


TABLE = Table("function_names", functions, called)
