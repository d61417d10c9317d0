"""`functorch`, which comes with torch, does here what it does there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import torchcompat as torch
from tests.func.functorch_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_the_drop_in_answers_for_functorch() -> None:
    program = ("import torchcompat.dropin; torchcompat.dropin.install()\n"
               "import functorch, functorch.experimental as e\n"
               "from functorch import FunctionalModule\n"
               "import torch._functorch.make_functional as m\n"
               "assert m.FunctionalModule is FunctionalModule, functorch.__name__\n"
               "print(functorch.__name__, e.__name__, FunctionalModule.__module__, functorch.__spec__.name)\n"
               "torchcompat.dropin.uninstall()\n"
               "import importlib.util; print(importlib.util.find_spec('functorch'))")
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[0] == "functorch functorch.experimental torch._functorch.make_functional functorch"
    assert "torchcompat" not in result.stdout.splitlines()[1]
