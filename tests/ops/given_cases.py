"""What the old constructors take for data: everything that has elements by number, but text."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from tests.recording import Table


class Two:
    """Two elements by number, and no more."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> int:
        if i > 1:
            raise IndexError
        return i


DATA = ("Two()", "range(2)", "bytearray(b'ab')", "memoryview(b'ab')", "[1, 2]", "(1, 2)", "np.arange(2)",
        "deque([1, 2])", "UserList([1, 2])",
        "object()", "{1}", "{1: 2}", "iter([1])", "3.5", "None", "{1: 2}.keys()", "'ab'", "b'ab'", "True",
        "np.float32(3)", "np.ones((2, 2))",
        "[range(2), range(2)]")
MAKERS = ("torch.Tensor", "torch.ones(1).new", "torch.LongTensor", "torch.DoubleTensor")


def outcome(torch: Any, case: str) -> Any:
    """A call's result, or what it raises."""
    names = {"torch": torch, "np": np, "Two": Two, "deque": collections.deque, "UserList": collections.UserList}
    try:
        made = eval(case, names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return [str(made.dtype), made.tolist()]


TABLE = Table("given", [f"{maker}({data})" for maker in MAKERS for data in DATA], outcome)
