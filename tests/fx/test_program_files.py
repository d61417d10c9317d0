"""Programs in files: what is written is read again, and nothing of a hostile file is run."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

import torchcompat as torch
from torchcompat.export import _files

from . import export_cases, sizes_cases


def written(program: Any, change: Callable[[Any], None] | None = None) -> io.BytesIO:
    stream = io.BytesIO()
    torch.export.save(program, stream, extra_files={"note": "words"})
    if change is None:
        return stream
    other = io.BytesIO()
    with zipfile.ZipFile(stream) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("program.json"):
                said = json.loads(content)
                change(said)
                content = json.dumps(said).encode()
            new.writestr(name, content)
    return other


def setting(cases: Any) -> dict[str, Any]:
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "Dim": torch.export.Dim}
    exec(cases.SETTING, names)
    return names


@pytest.mark.parametrize("case", ["a network", "in training", "changes", "attention", "layers"])
def test_a_program_is_read_as_it_was(case: str) -> None:
    names, (module, args, _) = setting(export_cases), export_cases.EXPORTED[case]
    program = torch.export.export(eval(module, names), eval(args, names))
    for made in (program, program.run_decompositions()):
        extra = {"note": ""}
        read = torch.export.load(written(made), extra_files=extra)
        given = [t.clone() for t in eval(args, names)]
        assert str(read) == str(made) and extra == {"note": "words"} and list(read.state_dict) == list(made.state_dict)
        torch.manual_seed(0)
        found = torch.utils._pytree.tree_leaves(read.module()(*[t.clone() for t in given]))
        torch.manual_seed(0)
        expected = torch.utils._pytree.tree_leaves(made.module()(*[t.clone() for t in given]))
        assert all([torch.equal(a, b) for a, b in zip(found, expected)])


def test_a_program_for_several_sizes_is_still_one() -> None:
    names = setting(sizes_cases)
    program = torch.export.export(eval("Heads()", names), (names["rows"],), dynamic_shapes=({0: names["B"], 1: names["S"]},))
    read = torch.export.load(written(program))
    assert read.module()(torch.ones(5, 6, 4)).shape == (5, 6, 4) and str(read) == str(program)
    with pytest.raises(AssertionError, match=r"x.size\(\)\[0\] <= 64"):
        read.module()(torch.ones(65, 6, 4))


def calls(target: str, *args: object) -> Callable[[Any], None]:
    def change(said: Any) -> None:
        node = next(n for n in said["nodes"] if n["op"] == "call_function")
        node["target"], node["args"] = target, list(args)

    return change


def names(what: str, name: str) -> Callable[[Any], None]:
    def change(said: Any) -> None:
        if what == "input":
            said["nodes"][0]["target"] = name
        elif what == "node":
            said["nodes"][0]["name"] = name
        elif what == "keyword":
            said["nodes"][-2]["kwargs"] = {name: 1}
        elif what == "state":
            said["inputs"][0][2] = name
        else:
            said["names"] = [name]

    return change


EVIL = "x = __import__('os').system('false')"


@pytest.mark.parametrize("change", [
    calls("builtins.eval", "1"), calls("aten.load.default", "/etc/hostname"), calls("aten.save.default", 1, "/etc/hostname"),
    calls("aten.from_file.default", "/etc/hostname"), calls("aten.__class__.default"), calls("os.system.default", "false"),
    calls("operator.attrgetter", "a"), calls("aten.add"), names("input", EVIL), names("node", EVIL), names("keyword", EVIL),
    names("state", 'a"). x'), names("state", "nothing"), names("argument", EVIL), names("input", "lambda"),
    lambda said: said.update(format=2), lambda said: said.pop("nodes"), lambda said: said["nodes"].pop(0),
    lambda said: said.update(in_spec=["type", None, []]), lambda said: said["nodes"][0].update(op="call_module"),
])
def test_nothing_of_a_hostile_file_is_run(change: Callable[[Any], None]) -> None:
    stream = written(torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)), change)
    with pytest.raises((RuntimeError, AssertionError)):
        torch.export.load(stream)


def test_what_no_file_holds_is_refused() -> None:
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram', got 'Linear' instead."):
        torch.export.save(torch.nn.Linear(1, 1), io.BytesIO())
    with pytest.raises(zipfile.BadZipFile):
        torch.export.load(io.BytesIO(b"nothing"))
    with pytest.raises(RuntimeError, match="cannot be written"):
        _files._written(object())
