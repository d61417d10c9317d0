"""Small modules, against what was recorded from torch."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import pytest
from tests.core.small_cases import TABLE

import torchcompat as torch

GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_small_modules_do_as_torchs(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, GROUPS))


def test_extensions_of_python_are_built_and_those_of_torch_refused(tmp_path: Path) -> None:
    if shutil.which("c++") is None or not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        pytest.skip("this machine has no compiler of C++, or no headers of Python")
    from torchcompat.utils.cpp_extension import load, load_inline

    source = tmp_path / "told.c"
    source.write_text("""#include <Python.h>
static struct PyModuleDef told = {PyModuleDef_HEAD_INIT, "told", "of C", -1, NULL};
PyMODINIT_FUNC PyInit_told(void) { return PyModule_Create(&told); }
""")
    assert load("told", str(source), extra_cflags=["-fpermissive", "-x", "c++"], build_directory=str(tmp_path)).__doc__ == "of C"
    with pytest.raises(RuntimeError, match="Error building extension 'other'"):
        load_inline("other", "int f() { return 1; }", functions=["f"], build_directory=str(tmp_path / "other"))
