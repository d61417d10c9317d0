"""What `import torchcompat` imports: what every program needs, and the rest when it is first asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from torchcompat import Tensor

from autograd_tape.ops import ALIASES, INDEX, RECORDS, __main__ as index
from autograd_tape.ops._index import ALIASES as KNOWN, METHODS
from autograd_tape.record import Record, method_names
from autograd_tape.records import Records

_PROGRAM = """
import json, sys
import numpy
before = set(sys.modules)
import {package}
{then}
print(json.dumps(sorted(set(sys.modules) - before)))
"""


WRITE = "run: python -m autograd_tape.ops"


def imported(package: str, then: str = "") -> list[str]:
    """The modules that a new process imports with `package`, beyond NumPy's own."""
    out = subprocess.run([sys.executable, "-c", _PROGRAM.format(package=package, then=then)], capture_output=True, text=True, check=True)
    return list(json.loads(out.stdout))


def test_the_index_is_current() -> None:
    """But for the order in which a module has its records."""
    made: dict[str, Any] = {}
    exec(index.page(), made)
    assert {module: {*names} for module, names in made["INDEX"].items()} == {module: {*names} for module, names in INDEX.items()}, WRITE
    assert made["ALIASES"] == KNOWN and {*made["METHODS"]} == {*METHODS}, WRITE


def test_names_are_known_and_records_found_where_they_stand() -> None:
    for module, names in INDEX.items():
        assert {RECORDS[name].module for name in names} == {f"autograd_tape.ops.{module}"}
    assert ALIASES.items() >= KNOWN.items()
    assert {*METHODS} >= {name for name in method_names(RECORDS["add"])} == {"add", "add_"}
    assert all([isinstance(rec.name, str) for rec in RECORDS.values()]) and len(RECORDS.loaded()) == len(RECORDS)


def test_a_record_that_its_module_lacks_is_said_to_lack() -> None:
    records: Records[Record] = Records()
    dict.update(records, {"add": "autograd_tape.ops.elementwise.rounding"})
    assert "add" in records and not records.loaded()
    with pytest.raises(LookupError, match="rounding has no record of 'add'; run: python -m autograd_tape.ops"):
        records.get("add")
    assert records.get("sub") is None


@pytest.mark.parametrize(("package", "most"), [("autograd_tape", 110), ("torchcompat", 160)])
def test_few_modules_are_imported(package: str, most: int) -> None:
    found = imported(package)
    records = {f"autograd_tape.ops.{module}" for module in INDEX}
    costly = {"attr", "json", "shutil", "tempfile", "bz2", "lzma", "numba", "scipy", "asyncio", "multiprocessing"}
    assert not {*found} & (records | costly) and len(found) < most
    assert not {*found} & {f"autograd_tape.{name}" for name in ("check", "grad", "graph", "transforms", "samples", "sharding", "show")}


def test_an_operation_brings_the_records_of_its_kind_alone() -> None:
    found = {*imported("torchcompat", "torchcompat.ones(2) + 1")}
    assert "autograd_tape.ops.elementwise.arithmetic" in found
    assert len(found & {f"autograd_tape.ops.{module}" for module in INDEX}) < 5


def test_second_names_of_methods_are_the_same_function() -> None:
    assert Tensor.__div__ is Tensor.__truediv__ and Tensor.__long__ is Tensor.__int__  # type: ignore[attr-defined]


@pytest.mark.parametrize("first", ["", "import autograd_tape.ops.elementwise.arithmetic", "import torchcompat.sparse, torchcompat.fft"])
def test_modules_that_are_imported_later_are_silent(first: str) -> None:
    """NumPy's warnings are, in the modules of records and in what these import, however they were imported."""
    then = f"""{first}
import warnings
warnings.simplefilter("error")
x, zero = torchcompat.tensor([1.0, 2.0]), torchcompat.zeros(2)
torchcompat.addcdiv(x, x, zero), torchcompat.log(zero - 1), torchcompat.special.xlogy(zero, zero), x.var(correction=2)
torchcompat.lgamma(zero), torchcompat.nn.functional.cosine_similarity(zero * (x / zero), x, 0), torchcompat.float_power(zero, -1)
assert [name for name, module in sys.modules.items() if name.startswith("autograd_tape.ops.") and type(module).__name__ == "_Unwarned"]
loud = [name for name, module in sys.modules.items() if name.startswith("autograd_tape.ops.") and "np" in vars(module)
        and type(module).__name__ != "_Unwarned"]
assert not loud, loud"""
    assert "autograd_tape.ops" in imported("torchcompat", then)  # and the process ended well
