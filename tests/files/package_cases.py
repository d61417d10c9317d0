"""Packages: what exporters and importers do with modules, objects and patterns, and a package that torch wrote."""

from __future__ import annotations

import importlib
import io
import re
import sys
import types
from typing import Any

from tests.recording import FIXTURES, Recording, Table, attempted

FILE = "package_torch.pt"
SOURCES = {
    "shop": ("import shop.stock\nfrom . import till\nname = 'shop'\n", True),
    "shop.stock": ("import torch\nimport toolbox\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n", False),
    "shop.till": ("from shop.stock import Model\nfrom toolbox.saws import cut\ndef pay():\n    return Model.__name__\n", False),
}
"""Modules of a shop, which need a toolbox."""
ADDED = "".join([f"e.save_source_string({name!r}, {source!r}, is_package={package})\n" for name, (source, package) in SOURCES.items()])
CODES = {
    "extern": "e.extern('toolbox.**')\n" + ADDED + "found = e.externed_modules(), e.interned_modules(), e.get_rdeps('shop.stock')",
    "mock": "e.mock('toolbox.**')\n" + ADDED + "found = e.mocked_modules(), e.dependency_graph_string()",
    "deny": "e.deny(['toolbox', 'toolbox.*'], exclude='toolbox.x')\n" + ADDED + "found = e.denied_modules()",
    "no action": ADDED,
    "first pattern": "e.extern('tool*')\ne.mock('**')\n" + ADDED + "found = e.externed_modules(), e.mocked_modules()",
    "empty match": "e.extern('nothing', allow_empty=False)\n",
    "broken source": "e.save_source_string('a', 'import (')",
    "sys": "e.save_source_string('a', 'import sys, os')",
    "no module": "e.save_module(3)",
    "builtin": "e.extern('sys')\ne.intern('**')\ne.save_source_string('a', 'import sys')\nfound = e.externed_modules()",
    "extension": "e.save_module('_bisect') if False else e.save_module('math')",
    "twice": "e.save_text('a', 'b', 'c')\ne.save_text('a', 'b', 'c')",
    "resource path": "e.save_text('a', 'b/c', 'd')",
    "protocol": "e.save_pickle('a', 'b', 1, pickle_protocol=2)",
    "ids": "found = e.get_unique_id(), e.get_unique_id()",
    "hooks": "e.extern('toolbox.**')\nfound = []\nh = e.register_extern_hook(lambda e, n: found.append(n))\n"
             "e.register_intern_hook(lambda e, n: found.append('+' + n))\nh.remove()\n" + ADDED,
    "mocked in pickle": "e.mock('toolbox')\ne.save_pickle('a', 'b', toolbox.Tool())",
    "relative": "e.save_source_string('a.b', 'from ...c import d')",
    "dunder import": "e.extern('**')\ne.save_source_string('a', '__import__(\"toolbox.saws\", fromlist=[\"cut\"])\\n'\n"
                     "    '__import__(\"toolbox.saws\")')\nfound = e.externed_modules()",
}
LOADED = {
    "modules": "i.import_module('shop').name, i.import_module('shop.till').pay(), i.import_module('shop').stock.Model.__module__[-10:]",
    "tree": "str(i.file_structure(include=['**/*.py', '**/*.txt'], exclude='shop/till.py'))",
    "has": "[i.file_structure().has_file(n) for n in ('shop/till.py', 'shop', 'shop/x.py', 'model/weights.pkl')]",
    "text": "i.load_text('model', 'note.txt'), i.load_binary('model', 'note.txt').decode('latin1')",
    "pickle": "{k: v.tolist() for k, v in i.load_pickle('model', 'weights.pkl').items()}",
    "shared": "(lambda d: "
              "d['a'].untyped_storage().data_ptr() == d['b'].untyped_storage().data_ptr())(i.load_pickle('model', 'weights.pkl'))",
    "object": "(lambda m: (type(m).__name__, m(torch.ones(2)).tolist(), package.is_from_package(m), "
              "package.is_from_package(m(torch.ones(1)))))(i.load_pickle('model', 'net.pkl'))",
    "absent module": "i.import_module('nothing')", "absent resource": "i.load_text('model', 'nothing')[:1]",
    "no package": "i.load_text('shop.till', 'x')", "beyond": "i.import_module('shop.till.x')", "empty": "i.import_module('')",
    "mocked": "i.import_module('toolbox').Tool.x", "mocked call": "i.import_module('toolbox.saws').cut()",
    "mangled": "i.import_module(i.import_module('shop.till').__name__) is i.import_module('shop.till')",
    "version": "i.python_version().count('.')", "own builtins": "i.import_module('os').path.basename('a/b')",
    "source": "inspect.getsource(i.import_module('shop.stock').Model)", "externs": "sorted(i.extern_modules)",
    "resources": "sorted(i.get_resource_reader('shop').contents()), "
                 "i.get_resource_reader('shop').is_resource('till.py')",
    "disallowed": "package.PackageImporter(path, lambda name: name != 'torch')",
}
GLOBS = {
    f"glob {include} {exclude} {name}": f"package.GlobGroup({include!r}, exclude={exclude!r}).matches({name!r})"
    for include, exclude in (("torch.*", ()), ("torch.**", "torch.nn"), (["a*.**", "b"], ["a.x"]), ("a**", ()), ("**.b", ()),
                             ("a.*c*.d", ()))
    for name in ("torch", "torch.nn", "torch.nn.functional", "a", "abc.d.e", "b", "a.x", "x.b", "a.bcd.d")}


def exported(torch: Any, package: Any, file: Any, names: dict[str, Any], code: str) -> Any:
    """What a program with an exporter `e` finds."""
    with package.PackageExporter(file) as exporter:
        names.update(e=exporter, found=None)
        exec(code, names)
    return names["found"]


def toolbox() -> dict[str, types.ModuleType]:
    """Modules that the shop needs, of which there are no files."""
    saws = types.ModuleType("toolbox.saws")
    box = types.ModuleType("toolbox")
    box.__path__ = []  # type: ignore[attr-defined]
    vars(saws)["cut"] = len
    vars(box).update(saws=saws, Tool=type("Tool", (), {"__module__": "toolbox"}))
    return {"toolbox": box, "toolbox.saws": saws}


def write(torch: Any, path: Any) -> None:
    """A package of the shop, a model, text and tensors that share memory."""
    package = importlib.import_module(f"{torch.__name__}.package")
    sys.modules.update(toolbox())
    base = torch.arange(4.)
    try:
        with package.PackageExporter(str(path)) as exporter:
            exporter.mock("toolbox.**")
            exec(ADDED, {"e": exporter})
            exporter.save_text("model", "note.txt", "caf\u00e9")
            exporter.save_pickle("model", "weights.pkl", {"a": base, "b": base[1:], "c": torch.ones(2, dtype=torch.bfloat16)})
            source = io.BytesIO()
            with package.PackageExporter(source) as other:
                other.save_source_string("net", SOURCES["shop.stock"][0].replace("import toolbox\n", "").replace("Model", "Net"))
            importer = package.PackageImporter(io.BytesIO(source.getvalue()))
            exporter.importer = package.OrderedImporter(importer, package.sys_importer)
            exporter.intern("net")
            exporter.save_pickle("model", "net.pkl", importer.import_module("net").Net())
    finally:
        for name in toolbox():
            sys.modules.pop(name)


def outcome(torch: Any, case: str) -> Any:
    """What comes of a case, without what differs from one process to another."""
    import inspect
    import tempfile
    from pathlib import Path

    package = importlib.import_module(f"{torch.__name__}.package")
    names: dict[str, Any] = {"torch": torch, "package": package, "inspect": inspect, "path": str(FIXTURES / FILE)}
    boxes = toolbox()
    if case in CODES:
        sys.modules.update(boxes)
        names["toolbox"] = boxes["toolbox"]
        with tempfile.TemporaryDirectory() as folder:
            found = attempted(lambda: exported(torch, package, str(Path(folder) / "p.pt"), names, CODES[case]))
        for name in boxes:
            sys.modules.pop(name)
    elif case in LOADED:
        names["i"] = package.PackageImporter(names["path"])
        found = attempted(lambda: eval(LOADED[case], names))
    else:
        found = attempted(lambda: eval(GLOBS[case], names))
    if isinstance(found, dict) and "text" in found:
        text = re.sub(r"<torch_package_\d+>|\S*/fixtures/", "", found["text"])
        found["text"] = "" if text.startswith("PytorchStreamReader") else text
    return [re.sub(r"\S*/fixtures/", "", found)] if isinstance(found, str) else found


WRITTEN = Recording("package_file", FILE, lambda torch: write(torch, FIXTURES / FILE))
TABLE = Table("packages", [*CODES, *LOADED, *GLOBS], outcome)
