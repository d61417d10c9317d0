"""The signatures of torch's functions and methods, as its parser of arguments has them, written to where `torchcompat._calls.grammar` reads
them. They are made by the generator that comes with torch."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.recording import FIXTURES, Recording

FILE = "../../torchcompat/_calls/signatures.json.gz"
OPTIONS = "dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False"
_KINDS = {"int64_t": "int", "SymInt": "int", "IntArrayRef": "int[]", "SymIntArrayRef": "int[]", "double": "float",
          "c10::string_view": "str", "TensorList": "Tensor[]", "ScalarType": "dtype",
          "Layout": "layout", "Device": "device", "MemoryFormat": "memory_format",
          "ArrayRef<double>": "float[]", "c10::List<::std::optional<Tensor>>": "Tensor?[]", "DeviceIndex": "int"}
_PART = re.compile(r"([\w:<>]+)(\[\d+\])?(\??) (\w+(?:=.*)?)")


def written(signature: str) -> str:
    """A signature as it is recorded: without the function's name, with types as records have them, "!" at the end of a deprecated one."""
    body, _, flag = signature.partition("(")[2].rpartition(")")
    parts = []
    for part in body.split(", ") if body else ():
        found = _PART.fullmatch(part)
        if found is None:
            assert part == "*", part
            parts.append(part)
            continue
        kind, size, optional, named = found.groups("")
        kind = _KINDS.get(kind, kind)
        parts.append(f"{kind[:-2] + size if size and kind.endswith('[]') else kind + size}{optional} {named}")
    return ", ".join(parts).replace(OPTIONS, "...") + "!" * (flag == "|deprecated")


def record(torch: Any) -> None:
    """Writes all signatures by name; those of methods where they are not the function's without its tensor."""
    import torchgen  # type: ignore[import-not-found]
    from torchgen.gen import parse_native_yaml  # type: ignore[import-not-found]

    packaged = Path(torchgen.__file__).with_name("packaged")
    sys.path.insert(0, str(packaged))
    from torchgen.packaged.autograd import gen_python_functions as generator  # type: ignore[import-not-found]

    from torchcompat._calls.grammar import _of_method

    native = packaged / "ATen" / "native"
    functions = [f for f in parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml")).native_functions
                 if generator.should_generate_py_binding(f)]
    deprecated = str(packaged / "autograd" / "deprecated.yaml")
    spaces = {"": generator.is_py_torch_function, "nn.": generator.is_py_nn_function, "linalg.": generator.is_py_linalg_function,
              "fft.": generator.is_py_fft_function, "special.": generator.is_py_special_function}
    found: dict[str, str] = {}
    for space, belongs in [*spaces.items(), ("Tensor.", generator.is_py_variable_method)]:
        method = space == "Tensor."
        pairs = generator.load_signatures(functions, deprecated, method=method)
        for name, several in generator.group_filter_overloads(pairs, belongs).items():
            overloads = [written(o.signature.signature_str(symint=True)) for o in generator.group_overloads(several, symint=True)]
            plain = str(name).removeprefix(space.replace(".", "_")) if space not in ("", "nn.", "Tensor.") else str(name)
            if not method or str(name) not in found or [_of_method(s) for s in found[str(name)].split("|")] != overloads:
                found[space + plain] = "|".join(overloads)
    text = json.dumps(dict(sorted(found.items())), separators=(",", ":")).encode()
    (FIXTURES / FILE).write_bytes(gzip.compress(text, 9, mtime=0))


SIGNATURES = Recording("signatures", FILE, record)
