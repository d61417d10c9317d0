"""Classes that are no tensors, and carry out torch's functions: the first such object that a program makes is met as any later one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import torchcompat as torch
from torchcompat.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode, _get_current_dispatch_mode_stack


class Stranger:
    """Carries out all functions."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None) -> str:
        return "met"


X, S = torch.ones(2, 2), Stranger()
CALLS: dict[str, Callable[[], Any]] = {
    "regular": lambda: torch.neg(S), "second operand": lambda: torch.add(X, S), "view": lambda: torch.reshape(S, (4,)),
    "operator": lambda: X + S, "method": lambda: X.add(S), "in place": lambda: X.sub_(S), "list": lambda: torch.cat([X, S]),
    "first of a list": lambda: torch.stack([S]), "reduction": lambda: torch.sum(S), "several outputs": lambda: torch.split(S, 1),
    "irregular": lambda: torch.nn.functional.dropout(S), "module": lambda: torch.nn.Linear(2, 2)(S), "factory": lambda: torch.zeros_like(S),
    "spread": lambda: torch.einsum("ij->i", S), "spread, second": lambda: torch.einsum("ij,jk", X, S),
    "keyword": lambda: torch.add(X, other=S), "index": lambda: X[S], "choice": lambda: torch.where(X > 0, S, X),
    "unique": lambda: torch.unique(S), "tensordot": lambda: torch.tensordot(X, S, 1), "broadcast": lambda: torch.broadcast_tensors(X, S),
}


def not_met() -> list[str]:
    """The calls that a stranger does not carry out, each as the first of a process."""
    found = []
    for name, call in CALLS.items():
        child = os.fork()
        if not child:
            status = 1
            try:
                status = int(call() != "met")
            finally:
                os._exit(status)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            found.append(name)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_the_first_stranger_is_met() -> None:
    code = "from tests.core.test_strangers import not_met; print(not_met())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2])
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_what_carries_out_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match="must be Tensor, not object"):
        torch.neg(object())


def test_modes_are_asked_first_and_may_leave_it_to_classes() -> None:
    class Counting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
            seen.append((self, types))
            return NotImplemented

    @torch.overrides.wrap_torch_function(lambda x: (x,))
    def plain(x: Any) -> Any:
        return x

    seen: list[Any] = []
    with Counting() as outer, Counting() as inner:
        assert torch.overrides._get_current_function_mode() is inner
        assert torch.overrides._get_current_function_mode_stack() == [outer, inner]
        assert plain(S) == "met"
    assert seen == [(inner, (Stranger,))] and plain(1) == 1


def test_a_dispatch_mode_may_leave_it_to_nobody() -> None:
    class Silent(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with Silent() as mode, pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch._ops.aten.neg.default'"):
        assert _get_current_dispatch_mode() is mode and _get_current_dispatch_mode_stack() == [mode]
        torch.neg(X)
