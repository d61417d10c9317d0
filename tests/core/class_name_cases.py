"""What torch's classes call themselves: by this they are shown, and named in files."""

from __future__ import annotations

from typing import Any

from tests.core.function_name_cases import _resolve
from tests.recording import Table

from torchcompat._status.names import dotted, recorded


def classes(torch: Any) -> list[str]:
    """Their dotted names, those of classes within classes left out."""
    import torchcompat

    names = [dotted(module, name) for module, found in recorded().items() for name in found if "." not in name]
    return [name for name in names if isinstance(_resolve(torch, name), type) and isinstance(_resolve(torchcompat, name), type)]


def called(torch: Any, name: str) -> str:
    """Module and qualified name, where programs say `torch`."""
    cls = _resolve(torch, name)
    return f"{cls.__module__}.{cls.__qualname__}".replace("torchcompat", "torch")


TABLE = Table("class_names", classes, called, zipped=True)
