"""What programs meet beside operations: numbers made of tensors that require grad, classes of numbered names,
comparisons across dtypes in a search, batches that are padding, what `from torch import *` brings, how `to` is read,
what copies of graphs' modules have, and grad modes within grad modes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.recording import Table, attempted

DTYPES = "float16 bfloat16 float32 float64 int32 int64 uint8 bool complex64".split()
NUMBERS = ("float(x)", "int(x)", "complex(x)", "x.item()", "bool(x)", "format(x, '.2f')", "'%.1f' % x", "'%d' % x", "f'{x}'",
           "__import__('math').sqrt(x)", "float(x * 2)", "float(x.detach())", "[float(x) for _ in range(3)]", "float(long)", "x.tolist()")
NAMED = """B.MATH
str(B.MATH), f"{B.ERROR}", B.MATH.name, B.MATH.value, int(B.ERROR), [1, 2][B.MATH], hash(B.MATH)
B(0) == B.MATH, B(0) is B.MATH, B.MATH == 0, B.MATH == "MATH", B.MATH != None, isinstance(0, B)
B(99), B(99).name, B(value=1), B(True)
list(B)
len(B)
0 in B
B["MATH"]
B()
B("MATH")
B.MATH < B.ERROR
B.MATH | 1
B.MATH(1)
setattr(B.MATH, "x", 1)
f"{B.MATH:>10}"
B.__members__
B.__module__, B.__qualname__, type(B).__name__
copy.deepcopy(B.MATH) == B.MATH, copy.copy(B.MATH), {B.MATH: 1}[B(0)]
B.NOTHING
issubclass(B, __import__("enum").Enum), isinstance(B.MATH, int)""".splitlines()

READ = """"cpu"
torch.float64
torch.ones(2, dtype=torch.int32), True
"cpu", torch.float16, True
"cpu", torch.float16, False, True
device="meta", dtype=torch.half

non_blocking=True
memory_format=torch.channels_last
torch.float32, copy=True
"x"
foo=1
"cpu", "cpu\"""".splitlines()
BROUGHT = "sin matmul abs_ add_ Tensor float32 randn manual_seed special nn linalg fft random view no_grad inf FloatTensor Size".split()


def _brought(torch: Any, name: str) -> Any:
    names: dict[str, Any] = {}
    exec(f"from {torch.__name__} import *", names)
    return [name in names, name in dir(torch)]


def _copied(torch: Any, how: str) -> Any:
    import_module(f"{torch.__name__}.fx")
    model = torch.fx.symbolic_trace(torch.nn.ReLU())
    model.meta.update(_user_preserved_attributes={"kept": [1]}, noted=[2])
    made = getattr(copy, how)(model)
    return [getattr(made, "kept", None), made.meta, made.meta is model.meta, made.meta["noted"] is model.meta["noted"]]


def _search(torch: Any, function: str, sequence: str, values: str) -> Any:
    a, b = torch.tensor([1, 3, 5, 7, 9]).to(getattr(torch, sequence)), torch.tensor([0.1, 3, 6.6, 9]).to(getattr(torch, values))
    return (torch.searchsorted(a, b) if function == "searchsorted" else torch.bucketize(b, a, right=True)).tolist()


def _converted(torch: Any, code: str, grad: bool) -> Any:
    torch.set_warn_always(True)
    x, long = torch.tensor(2.5, requires_grad=True), torch.tensor(3)
    try:
        with warnings.catch_warnings(record=True) as told, torch.set_grad_enabled(grad):
            warnings.simplefilter("always")
            value = attempted(lambda: repr(eval(code, {"x": x, "long": long})))
    finally:
        torch.set_warn_always(False)
    return [value, [str(one.message).split(" (Triggered")[0] for one in told]]


def _padded(torch: Any, rows: int, nested: bool, grad: bool) -> Any:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, dropout=0.0)
    model, x = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=nested).eval(), torch.arange(24.0).view(2, 3, 4).sin()
    mask = torch.zeros(2, 3, dtype=torch.bool)
    mask[:rows] = True
    with torch.set_grad_enabled(grad):
        return repr(model(x, src_key_padding_mask=mask).detach().isnan().flatten(1).any(1).tolist())


def _nested_modes(torch: Any, outer: str, inner: str) -> Any:
    """What is told, and what becomes of tensors, in one grad mode within another."""
    modes = {"no_grad": torch.no_grad, "enable_grad": torch.enable_grad, "set on": lambda: torch.set_grad_enabled(True),
             "set off": lambda: torch.set_grad_enabled(False), "inference": torch.inference_mode,
             "no inference": lambda: torch.inference_mode(False)}
    found: list[Any] = []

    def tell(x: Any) -> None:
        made = torch.nn.Parameter(torch.ones(2))
        found.append([torch.is_grad_enabled(), torch.is_inference_mode_enabled(), made.is_inference(), (made * 2).requires_grad,
                      attempted(lambda: repr(x.add_(0)))])  # torch adds before it refuses

    with modes[outer]():
        x = torch.zeros(2)
        tell(x)
        with modes[inner]():
            tell(x)
        tell(x)
    tell(x)
    return found


def _cases() -> dict[str, Callable[[Any], Any]]:
    found: dict[str, Callable[[Any], Any]] = {}
    for function in ("searchsorted", "bucketize"):
        found |= {f"{function} {a} {b}": lambda t, at=(function, a, b): _search(t, *at) for a in DTYPES for b in DTYPES}
    modes = ("no_grad", "enable_grad", "set on", "set off", "inference", "no inference")
    found |= {f"{inner} in {outer}": lambda t, at=(outer, inner): _nested_modes(t, *at) for outer in modes for inner in modes}
    found |= {f"number {code} {grad}": lambda t, at=code, g=grad: _converted(t, at, g) for code in NUMBERS for grad in (True, False)}
    found |= {f"named {code}": lambda t, at=code: repr(eval(at, {"B": t.nn.attention.SDPBackend, "copy": copy})) for code in NAMED}
    found |= {f"padded {rows} {nested} {grad}": lambda t, at=(rows, nested, grad): _padded(t, *at)
              for rows in range(3) for nested in (True, False) for grad in (True, False)}
    found |= {f"to({code})": lambda t, at=code: repr(eval(f"torch._C._nn._parse_to({at})", {"torch": t})) for code in READ}
    found |= {f"brought {name}": lambda t, at=name: _brought(t, at) for name in BROUGHT}
    found |= {f"graph {how}": lambda t, at=how: _copied(t, at) for how in ("copy", "deepcopy")}
    return found


CASES = _cases()


def _outcome(torch: Any, case: str) -> Any:
    import_module(f"{torch.__name__}.nn.attention")
    found = attempted(lambda: CASES[case](torch))
    return {**found, "text": found["text"].split("\n")[0][:200]} if isinstance(found, dict) else found


TABLE = Table("strays", CASES, _outcome)
