"""Programs around autocast's blocks: what they cast, weights that they keep, and what they say of devices and dtypes."""

from __future__ import annotations

import warnings
from typing import Any

from tests.recording import Table, attempted

DEVICES = ("cpu", "cpu:0", "cuda", "cuda:0", "xpu", "mps", "hpu", "xla", "ipu", "mtia", "privateuseone", "meta", "vulkan", "foo")
EQUATIONS = ("i,j->ij", "i,i->i", "i,i->", "i,->i", ",->", "ij,ij->ij", "ij,j->ji", "ij,jk->ik", "ij,kj->ikj", "ij,ij->", "ii,i->i",
             "i,j,k->kij", "aj,ak->jk", "bij,bjk->bik")
SIZES = {"a": 1, "b": 2}
POOLS = ("max_pool3d(f(1, 2, 4, 4, 4), 2{})", "adaptive_max_pool3d(f(1, 2, 4, 4, 4), 2{})",
         "fractional_max_pool2d(f(1, 2, 5, 5), 2, output_size=2{})", "fractional_max_pool3d(f(1, 2, 5, 5, 5), 2, output_size=2{})")
JOINS = ("t.cat({})", "t.vstack({})", "t.stack({})", "{}[0].index_copy(0, t.arange(2), {}[1])", "t.linalg.vecdot(*{})")
GROUPS = ("[f(2, 3), h(2, 3)]", "[h(2, 3), f(2, 3)]", "[h(2, 3), h(2, 3)]", "[e(2, 3), h(2, 3)]", "[e(2, 3), f(2, 3)]",
          "[f(2, 3), e(2, 3)]", "[d(2, 3), h(2, 3)]", "[d(2, 3), f(2, 3)]", "[d(2, 3), e(2, 3)]", "[e(2, 3), e(2, 3)]")
BLOCKS = """
w = f(3, 3).requires_grad_() | a = x @ w; c = x @ w | same(a, c)
w = f(3, 3).requires_grad_() | a = x @ w; w.detach().mul_(2); c = x @ w | a.equal(c)
w = f(3, 3).requires_grad_() | a = x @ w; w.detach().mul_(2); t.clear_autocast_cache(); c = x @ w | a.equal(c), same(a, c)
w = f(3, 3).requires_grad_() | b = t.no_grad(); b.__enter__(); a = x @ w; b.__exit__(None, None, None); c = x @ w
    | a.requires_grad, c.requires_grad
w = f(3, 3) | v = w.clone().requires_grad_(); a = x @ v.view(3, 3); c = x @ v.view(3, 3) | same(a, c)
w = f(3, 3).requires_grad_() | a = x @ w; c = within(t.bfloat16, lambda: x @ w); e = x @ w | same(a, c), same(a, e)
w = f(3, 3).requires_grad_() | a = x @ w; c = within(t.float16, lambda: x @ w) |
w = f(3, 3).requires_grad_() | t.set_autocast_cache_enabled(False); a = x @ w; c = x @ w | same(a, c), t.is_autocast_cache_enabled()
w = f(3, 3).requires_grad_() | y = x @ w + (x * 0.37) @ w + (x * 1.7) @ w; y.sum().backward() | w.grad.tolist()
m = t.nn.Linear(3, 3); [p.detach().fill_(0.3) for p in m.parameters()] | m(m(m(x))).float().sum().backward()
    | m.weight.grad.tolist(), m.bias.grad.tolist()
r = [] | k = t.amp.autocast_mode._enter_autocast("cpu", None, False, None); r += [(x @ x).dtype];
    t.amp.autocast_mode._exit_autocast(k) | r, (x @ x).dtype
""".replace("\n    ", " ").strip().splitlines()
"""What comes before a block, stands in it, and is asked for after it."""


def cases(torch: Any) -> list[str]:
    """All programs, most of them one expression in a block."""
    found = [f"t.autocast({device!r}, {more})" for device in DEVICES
             for more in ("", "enabled=False", "t.float16", "t.float32", "t.int8, enabled=False", "'x'")]
    found += [f"t.{name}({device!r})" for device in DEVICES[:-1] for name in ("get_autocast_dtype", "is_autocast_enabled")]
    found += ["t.autocast()", "t.autocast(3)", "t.autocast(t.device('cpu'))", "t.autocast(t.float32)", "t.amp.custom_fwd(device_type=3)"]
    for equation in EQUATIONS:
        terms = equation.partition("->")[0].split(",")
        shapes = [tuple([SIZES.get(x, 3) for x in term]) for term in terms]
        found += [f"t.einsum({equation!r}, {', '.join([f'{kind}{s}' for s, kind in zip(shapes, kinds * 3)])})"
                  for kinds in ("f", "h", "hff")]
    found += [f"t.tensordot({a}(3, 3), f(3, 3), {n})" for n in range(3) for a in "fh"]
    found += ["t.tensordot(f(1, 3), f(3, 1), 1)", "t.inner(f(2, 3), f(2, 3))", "t.inner(f(3), f(3))", "t.inner(h(2, 3), f(2, 3))"]
    found += [f"t.nn.functional.pad({kind}(1, 2, {', '.join('3' * n)}), {(1, 1) * n}, mode={mode!r})" for n in (1, 2, 3) for kind in "fh"
              for mode in ("reflect", "replicate", "circular", "constant")]
    found += [f"t.nn.functional.{pool.format(more)}".replace("f(", f"{kind}(", 1) for pool in POOLS
              for more in ("", ", return_indices=True") for kind in "fh"]
    found += [join.replace("{}", group) for join in JOINS for group in GROUPS]
    found += ["t.lu(h(3, 3))", "t.linalg.lu_solve(*t.linalg.lu_factor(f(3, 3)), f(3, 2))",
              "t.lu_solve(h(3, 2), *t.linalg.lu_factor(f(3, 3)))", "t.nuclear_norm(h(3, 3))", "t.norm(h(3, 3), 'nuc')", "t.cov(f(1, 4))",
              "t.cov(f(4))", "t.corrcoef(f(1, 4))",
              "t._addmm_activation(f(2), f(2, 3), f(3, 2))"]
    return found + BLOCKS


def outcome(torch: Any, program: str) -> Any:
    """Dtypes of tensors, other values, or an error; and what was warned of."""
    torch.manual_seed(0)
    names = {"t": torch, "x": torch.arange(9.0).reshape(3, 3) / 7, "f": lambda *s: torch.randn(s),
             "h": lambda *s: torch.randn(s).bfloat16(), "e": lambda *s: torch.randn(s).half(), "d": lambda *s: torch.randn(s).double(),
             "same": lambda a, b: a.grad_fn.next_functions[1][0] is b.grad_fn.next_functions[1][0]}

    def within(dtype: Any, function: Any) -> Any:
        with torch.autocast("cpu", dtype=dtype):
            return function()

    names["within"] = within

    def shown(value: Any) -> Any:
        if isinstance(value, torch.autocast):
            with value:
                return [value.device, str(value.fast_dtype), value._enabled, shown(torch.ones(1, 1) @ torch.ones(1, 1))]
        if isinstance(value, (list, tuple)):
            return [shown(v) for v in value]
        return str(value.dtype) if isinstance(value, torch.Tensor) else value if isinstance(value, (bool, float)) else str(value)

    def run() -> Any:
        if "autocast" in program.partition(" | ")[0] or "custom" in program:
            return shown(eval(program, names))
        if " | " not in program:
            with torch.autocast("cpu"):
                return shown(eval(program, names))
        before, inside, after = [part.strip() for part in f"{program} ".split(" | ")]
        exec(before, names)
        with torch.autocast("cpu"):
            exec(inside, names)
        return shown(eval(after, names)) if after else None

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = attempted(run)
    texts = {str(w.message).partition(" (Triggered")[0] for w in told}
    return {"found": found, "warned": sorted([text for text in texts if "deprecated" not in text])}


TABLE = Table("autocast_blocks", cases, outcome)
