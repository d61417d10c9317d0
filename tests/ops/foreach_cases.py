"""Operations on lists of tensors: each with every kind of argument, right or wrong; what it gives, its gradients, or its error."""

from __future__ import annotations

from typing import Any

from tests.recording import Table

ARGUMENTS = ["x", "x, y", "x, y, z", "x, 2.5", "x, [2, 0.5]", "x, y, 0.5", "x, y, [0.5, 2]", "x, y, z, 2", "x, y, z, [2, 0.5]",
             "x, y, z, n", "x, s", "x, s0", "x, t", "s0, x", "2.0, x", "k", "k, 2", "k, 1.5", "k, k", "k, [1, 2]", "k, k, k", "k, k, 1",
             "b", "b, b", "c", "c, 2j", "c, c", "m, m", "x, y, alpha=2.0", "x, s, alpha=2", "x, 1, float64", "x, float('inf')", "x, 0",
             "self=x", "x, other=y", "x, scalars=[1, 2]", "x, y, z, value=3", "x, y, weight=0.25", "", "[]", "[], []", "[], 1", "[], [1]",
             "[], [], []", "[], y", "x, []", "x, y[:1]", "x, y[:1], z", "x, y, z[:1]", "x, [1]", "x, y, [1]", "x, y, z, n[:1]",
             "x, y, z, n[0]", "x, 'a'", "x, None", "x, ['a', 1]", "x, [y[0], 1]", "x, y, 'a'", "x, y, z, 'a'", "x, y, 2, 3", "3", "t",
             "[1.0]", "x, bogus=1", "x, x, x, x, x", "x, y, True", "e", "e, e", "w", "w, 1", "w, y"]


UNCHECKED = ("clamp_m", "maximum", "minimum", "mul_", "div_", "pow_", "add_", "sub_", "lerp_")
"""torch reads beyond the end of a list of numbers that is too short for them, or for some of them."""


def cases(torch: Any) -> list[str]:
    return [f"{name}({given})" for name in dir(torch) if name.startswith("_foreach_") for given in ARGUMENTS
            if not (given in ("x, []", "x, [1]", "[], [1]", "x, y, [1]") and any(part in name for part in UNCHECKED)
                    or given == "x, float('inf')" and name == "_foreach_powsum")]


def outcome(torch: Any, case: str) -> Any:
    """The type of what a call gives; dtype, shape and values of each tensor, and the gradients of the sum of all; or the error."""
    def pair(*starts: float) -> list[Any]:
        return [(torch.arange(float(n), dtype=torch.float64).reshape(shape) * 0.37 % 0.8 + start).requires_grad_()
                for start, n, shape in zip(starts, (6, 2), ((2, 3), (2,)))]

    leaves = [*pair(0.1, 0.3), *pair(0.4, 0.2), *pair(0.15, 0.7), torch.tensor(1.5, dtype=torch.float64, requires_grad=True)]
    x, y, z = leaves[:2], leaves[2:4], leaves[4:6]
    k = [torch.tensor([1, 2]), torch.tensor(3)]
    names = {"x": [t.clone() for t in x] if "_(" in case else x, "y": y, "z": z, "k": k, "b": [torch.tensor([True, False])],
             "c": [torch.tensor([1 + 2j, -0.5j])], "m": [torch.ones(2, 2) + 1], "s": leaves[6], "s0": torch.tensor(2.0), "t": torch.ones(2),
             "n": torch.tensor([2.0, 0.5]), "e": [torch.zeros(0, 3)], "w": x, "float64": torch.float64}
    try:
        result = eval(f"torch.{case}", {"torch": torch, **names})
        values = [torch.view_as_real(t).tolist() if t.is_complex() else t.tolist() for t in result]
        found = [type(result).__name__, *[[str(t.dtype)[6:], list(t.shape), v] for t, v in zip(result, values)]]
        wanted = [t.sum() for t in result if t.requires_grad and t.is_floating_point()]
        gradients = torch.autograd.grad(wanted, leaves, allow_unused=True) if wanted else ()
        return [*found, *[0 if g is None or not g.any() else g.tolist() for g in gradients]]
    except (TypeError, RuntimeError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"


TABLE = Table("foreach", cases, outcome, tolerance=(1e-6, 1e-7), digits=8, zipped=True, apart=400)
