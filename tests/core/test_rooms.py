"""Where modules of torchcompat stand: at the top of the package only where torch has that name; and that nothing of what works in place
is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torchcompat as torch
from tests.core.module_names import IN_PLACE, TABLE

ROOT = Path(torch.__file__).parent
TORCH = set(TABLE.recorded["torch"])
"""The modules at the top of torch."""
OWN = {
    "dispatch": "programs register handlers with it",
    "dropin": "programs import it to have `import torch` answered",
    "__main__": "`python -m torchcompat`",
    "__init__": "the package",
}
ROOMS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name not in TORCH)


def test_a_module_stands_at_the_top_only_where_torch_has_that_name() -> None:
    files = {path.stem for path in ROOT.iterdir() if path.suffix in (".py", ".pyi")}
    assert files - TORCH == set(OWN)


def test_rooms_are_private_few_and_say_what_they_are_for() -> None:
    assert ROOMS == ["_calls", "_files", "_making", "_memory", "_status"]
    described = (ROOT.parent / "specs" / "torchcompat.md").read_text().split("| module |")[0]
    for room in ROOMS:
        source = (ROOT / room / "__init__.py").read_text()
        assert re.fullmatch(r'"""[A-Z].*\."""\n', source) and f"`{room}`" in described


@pytest.mark.parametrize("name", ["bits", "creation", "interop", "size", "shared", "aten", "frontend", "metadata"])
def test_torch_has_no_attribute_for_a_module_of_a_room(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'torch' has no attribute '{name}'"):
        getattr(torch, name)


@pytest.mark.parametrize("place", IN_PLACE.recorded)
def test_all_that_works_in_place_is_there(place: str) -> None:
    home = torch
    for part in filter(None, place.split(".")):
        home = getattr(home, part)
    names = set(IN_PLACE.recorded[place])
    assert not {name for name in names if not hasattr(home, name)}
    if place == "Tensor":
        assert {name for name in dir(home) if name.endswith("_") and not name.startswith("_")} == names
