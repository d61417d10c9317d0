"""What a program did once must not slow down its plain calls from then on: views of conjugates, layouts, modes and classes of its own have
listeners that stay, but these are asked about what is theirs alone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from tests.ops.op_cases import NAMES, bind, copied, is_array, samples, tree_map

import torchcompat as torch
from autograd_tape import calls
from autograd_tape.calls import Door
from autograd_tape.dtypes import float32
from autograd_tape.ops import RECORDS
from torchcompat import Tensor
from torchcompat._tensor import frontend
from torchcompat.overrides import TorchFunctionMode
from torchcompat.utils._python_dispatch import TorchDispatchMode

X = torch.tensor([[0.5, 1.5], [2.5, 3.5]])


class _Own(Tensor):
    pass


class _Carried(Tensor):
    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class _Functions(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _within(block: Any) -> None:
    with block:
        X @ X


EVENTS = {
    "a view of conjugates": lambda: torch.fft.ihfft(X),
    "a negative view": lambda: torch.ones(2, dtype=torch.complex64).conj().imag,
    "a sparse tensor": lambda: X.to_sparse(),
    "a nested tensor": lambda: torch.nested.nested_tensor([X, X]),
    "a tensor in oneDNN's layout": lambda: X.to_mkldnn(),
    "a lazy module": lambda: torch.nn.LazyLinear(2)(X),
    "a subclass": lambda: X.as_subclass(_Own) + 1,
    "a class that carries out operations": lambda: Tensor._make_subclass(_Carried, X),
    "a mode of functions": lambda: _within(_Functions()),
    "a mode of operations": lambda: _within(_Operations()),
    "autocast": lambda: _within(torch.autocast("cpu")),
    "anomaly": lambda: _within(torch.autograd.detect_anomaly()),
    "a profiler": lambda: _within(torch.profiler.profile()),
    "vmap": lambda: torch.vmap(torch.sin)(X),
    "tangents": lambda: torch.func.jvp(torch.sin, (X,), (X,)),
    "a trace": lambda: torch.jit.trace(torch.sin, (X,)),
    "hooks on what is saved": lambda: _within(torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)),
}


def _calls(name: str) -> list[tuple[Any, Any]]:
    """An operation's samples, of plain tensors."""
    rec, function = RECORDS[name], frontend.function(name)

    def tensor(x: Any) -> Any:
        return frontend.wrap(x.astype(float32.np) if x.dtype.kind == "f" else x) if is_array(x) else x

    def call(sample: Any) -> Any:
        args, kwargs = copied(bind(rec, sample))
        args, kwargs = [tree_map(tensor, a) for a in args], {key: tree_map(tensor, a) for key, a in kwargs.items()}
        return lambda: function(*args, **kwargs)

    return [call(sample) for sample in samples(rec)]


def _by_the_door(call: Any) -> bool | str:
    """Whether a call goes through a door; an error's name where there is one."""
    ran = set()
    try:
        call()  # what is made at first use
        sys.setprofile(lambda frame, event, arg: ran.add(frame.f_code))
        call()
    except Exception as error:
        return type(error).__name__
    finally:
        sys.setprofile(None)
    return Door.__call__.__code__ in ran


def _compare() -> None:
    """In a process of its own: which calls go through doors after an event that did not before."""
    irregular = [n for n in NAMES if RECORDS[n].field("function") is not None and RECORDS[n].field("make") is None and n[-1] != "_"]
    quick = {f"{n}/{i}": f for n in irregular for i, f in enumerate(_calls(n))}
    numbers = {"rand": lambda: torch.rand(3), "normal_": lambda: X.clone().normal_(), "full": lambda: torch.full((2,), 1.0),
               "linspace": lambda: torch.linspace(0, 1, 5), "eye": lambda: torch.eye(3), "zeros_like": lambda: torch.zeros_like(X)}
    before = {key: _by_the_door(f) for key, f in {**quick, **numbers}.items()}
    at_once = [key for key, found in before.items() if found is False]
    print(len(at_once), len({k for k in at_once if RECORDS.get(k.partition("/")[0]) and RECORDS[k.partition("/")[0]].field("quick")}))
    for event, happens in EVENTS.items():
        happens()
        if calls.TO_PLAIN:
            print(event, "keeps listening:", calls.TO_PLAIN)
        for key in at_once:
            if _by_the_door({**quick, **numbers}[key]):
                print(event, "closes", key)
                at_once = [k for k in at_once if k != key]


@pytest.mark.no_numbers("which path is taken")
def test_what_happened_once_closes_no_entrance() -> None:
    done = subprocess.run([sys.executable, "-c", "from tests.core.test_aftermath import _compare; _compare()"], text=True,
                          capture_output=True, check=False)
    counts, *closed = done.stdout.splitlines() or [done.stderr]
    assert not closed, closed[:20]
    total, quick = map(int, counts.split())
    assert total > 400 and quick > 40


@pytest.mark.no_numbers("what is said of arguments")
def test_a_list_in_itself_is_not_plain() -> None:
    inside: list[object] = [0]
    inside.append(inside)
    assert not calls.plain((inside,)) and not calls.plain(({"a": inside},)) and calls.plain(([[0, [1]], X],))
