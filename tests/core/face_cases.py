"""Which names of functions are the very same object, and by which function `__torch_function__` is shown a call."""

from __future__ import annotations

from typing import Any

from tests.recording import Table

from torchcompat._status.names import recorded

_SPACES = ("", "Tensor", "nn.functional", "linalg", "special", "fft", "functional")


def _names() -> list[str]:
    """All that torch has in these spaces, but for what is private."""
    found = {f"{space}.{name}".strip(".") for space in _SPACES if space != "Tensor" for name in recorded().get(space, ())}
    return sorted([name for name in found if not name.rpartition(".")[2].startswith("_") and name.rpartition(".")[0] in _SPACES])


def _resolve(torch: Any, name: str) -> Any:
    for part in name.split("."):
        torch = getattr(torch, part, None)
    return torch


def groups(torch: Any, case: str) -> list[list[str]]:
    """The names, two or more, of each function that has several."""
    found: dict[int, list[str]] = {}
    kept = []  # so that no two have one id
    for name in _names():
        function = _resolve(torch, name)
        if callable(function) and not isinstance(function, type):
            kept.append(function)
            found.setdefault(id(function), []).append(name)
    return sorted([several for several in found.values() if len(several) > 1])


SAME = Table("same_functions", ["all"], groups)

_BINARY = """
add radd sub rsub mul rmul truediv pow matmul floordiv mod eq ne lt le gt ge and rand or ror xor rxor lshift rshift iadd isub imul
itruediv ipow ifloordiv imod iand ior ixor ilshift irshift
""".split()
_CALLS = """
-x|abs(x)|+x|x[0]|x.__setitem__(0, 1)|x.sum()|torch.sum(x)|x.sum(0)|x.max(0)|x.reshape(9)|x.view(9)|torch.reshape(x, (9,))
x.relu()|torch.relu(x)|x.relu_()|torch.relu_(x)|F.relu(x)|x.softmax(0)|torch.softmax(x, 0)|x.clip(0)|x.clamp(0)|torch.clip(x, 0)
torch.clamp(x, 0)|x.absolute()|torch.absolute(x)|x.split(1)|torch.split(x, 1)|x.unbind()|torch.unbind(x)|x.to(torch.float64)
x.double()|x.multiply(2)|torch.multiply(x, 2)|x.swapaxes(0, 1)|torch.swapdims(x, 0, 1)|torch.linalg.det(x)|torch.det(x)|x.det()
torch.special.expm1(x)|torch.expm1(x)|x.expm1()|torch.special.expit(x)|torch.sigmoid(x)|F.sigmoid(x)|x.sigmoid()|x.eq(y)
torch.eq(x, y)|torch.cat([x, y])|torch.concat([x, y])|x.masked_fill(y > 0, 1)|x.cumsum(0)|x.mean()
torch.conv2d(x[None, None], y[None, None])|F.conv2d(x[None, None], y[None, None])|x.clone()|torch.clone(x)|x.detach()
x.unsqueeze(0)|torch.unsqueeze(x, 0)|x.new_zeros(2)|torch.zeros_like(x)|F.linear(x, y)|F.celu(x)|torch.celu(x)|x.add_(1)
x.addcmul_(y, y)|x.addcmul(y, y)|torch.addcmul(x, y, y)|x.where(y > 0, y)|torch.where(y > 0, x, y)|x.index_select(0, index)
torch.index_select(x, 0, index)|x.gather(0, index[None])|x.scatter(0, index[None], 1.)|x.sort()|torch.sort(x)|x.topk(1)|x.argmax()
x.T|x.tril()|torch.tril(x)|x.norm()|torch.norm(x)|x.std()|x.var(0)|x.flatten()|x.squeeze()|x.expand(3, 3)|x.transpose(0, 1)
x.diff()|x.dot|x.mm(y)|torch.mm(x, y)|x.matmul(y)|torch.matmul(x, y)|x.addmm(y, y)|x.bmm|x.fill_(1)|x.zero_()|x.copy_(y)
""".strip().replace("\n", "|").split("|")


def shown(torch: Any, case: str) -> str:
    """The first function that a class is shown while an expression is evaluated."""
    seen: list[str] = []

    class Seeing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(torch.overrides.resolve_name(func) or "nothing that has a name")
            return super().__torch_function__(func, types, args, kwargs or {})

    whole = any([f"__{name}" in case for name in ("and", "or", "xor", "rand", "ror", "rxor", "iand", "ior", "ixor")]) or "shift" in case
    x = torch.ones(3, 3, dtype=torch.int64 if whole else torch.float32)
    eval(case, {"torch": torch, "F": torch.nn.functional, "x": x.as_subclass(Seeing), "y": x.clone(), "index": torch.tensor([0, 1])})
    return seen[0] if seen else ""


SHOWN = Table("shown_functions", [*[f"x.__{name}__({y})" for name in _BINARY for y in ("2", "y") if name != "matmul" or y == "y"], *_CALLS],
              shown)
