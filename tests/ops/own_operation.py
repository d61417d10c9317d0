"""Operations of one's own, each one record, added after both packages are there: `test_own_operation.py` runs this file by itself."""

from __future__ import annotations

import numpy as np

import autograd_tape as at
import torchcompat as torch
from autograd_tape.ops import RECORDS, op
from autograd_tape.functions import status as table
from autograd_tape.ops import _batch as batches
from torchcompat._status import stubs
from torchcompat.func import _batching, jvp, vmap
from torchcompat.utils._python_dispatch import TorchDispatchMode


@op("scaled_cube(Tensor input, Scalar scale=1.0) -> Tensor", family="unary", promotion="float", result="same", inplace=True,
    alias="special.scaled_cube")
class scaled_cube:
    """scale x^3."""

    def numpy(input, scale): return input * input * input * scale
    def compose(F, input, scale): return F.mul(F.pow(input, 3), scale)
    def vjp(F, grad, input, scale): return grad * input * input * (3 * scale)
    aten = "cube"
    amp = "float32"
    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal(()), 2.0


@op("sum_of_squares(Tensor input, int dim=-1) -> Tensor")
class sum_of_squares:
    """The sum of squares along a dimension."""

    def numpy(input, dim): return (input * input).sum(dim)
    def shape(input, dim): return tuple([n for i, n in enumerate(input) if i != dim % len(input)])
    def vjp(F, grad, input, dim): return F.unsqueeze(grad, dim) * input * 2
    def samples(rng): yield rng.standard_normal((2, 3, 4)), 1


@op("pair_product(Tensor left, Tensor right) -> Tensor", method=False)
class pair_product:
    """left @ right of two matrices."""

    def numpy(left, right): return left @ right
    def shape(left, right): return (left[0], right[1])
    def vjp_left(F, grad, right): return F.mm_nt(grad, right)
    def vjp_right(F, grad, left): return F.mm_tn(left, grad)
    jvp = "bilinear"
    batch = batches.product(2, 2)
    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal((3, 4))


@op("quarter(Tensor input) -> Tensor", family="unary", promotion="float", result="same")
class quarter:
    """input / 4, of a 0-dim array as NumPy's scalar or as an array: a kernel may turn to machine code at any call."""

    as_array = False
    def numpy(input): return np.asarray(input / 4) if quarter.body.as_array else input / 4
    def vjp(F, grad): return grad * 0.25
    def samples(rng): yield rng.standard_normal(3)


def wrong(name: str, **fields):
    """A copy of `pair_product` with other fields."""
    op(f"{name}(Tensor left, Tensor right) -> Tensor", method=False)(type(name, (), {
        **{k: v for k, v in vars(pair_product.body).items() if k not in ("__dict__", "__weakref__")}, **fields}))
    return name


class Seen(TorchDispatchMode):
    """What a mode sees."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def refuse(*args):
    raise AssertionError("carried out example by example")


def main() -> None:
    everything = ("meta", "compose", "out", "in-place", "gradients", "gradients of gradients", "vmap", "forward mode")
    _batching.loop = refuse  # family, schema and field `batch` say enough
    assert at.check_operation("scaled_cube") == everything
    assert at.check_operation("sum_of_squares") == ("meta", "out", *everything[4:])
    assert at.check_operation("pair_product") == ("meta", "out", *everything[4:])

    # what is wrong is found
    for name, fields in (("wrong_gradient", {"vjp_left": lambda F, grad, right: F.mm_nt(grad, right) * 2}), ("wrong_shape", {
            "shape": lambda left, right: left}), ("wrong_batch", {"batch": lambda F, call: F.matmul(call.right, call.left)}),
            ("wrong_tangent", {"jvp": "linear"}), ("wrong_parts", {"compose": lambda F, left, right: F.mm(left, right) + 1})):
        try:
            at.check_operation(wrong(name, **fields))
        except (AssertionError, ValueError, at.errors.AutogradError, RuntimeError):
            continue
        raise AssertionError(f"{name} is not found")

    # functions and methods, of both packages, under all names
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert torch.scaled_cube(x).tolist() == torch.special.scaled_cube(x).tolist() == x.scaled_cube().tolist() == [1.0, 8.0]
    assert at.F.scaled_cube(at.TensorRef.of([2.0])).numpy() == at.TensorRef.of([2.0]).scaled_cube().numpy() == [8.0]
    y = torch.tensor([1.0, 2.0])
    assert y.scaled_cube_(2.0) is y and y.tolist() == [2.0, 16.0] and torch.scaled_cube_(y) is y
    assert not hasattr(torch.Tensor, "pair_product") and torch.pair_product(torch.eye(2), torch.eye(2)).tolist() == [[1, 0], [0, 1]]

    # nodes, gradients by name, other dtypes and devices
    assert torch.scaled_cube(x).grad_fn.name() == "ScaledCubeBackward0" and torch.scaled_cube(x).grad_fn._saved_self is x
    assert at.get_grad_fn("scaled_cube") is not None
    assert torch.autograd.grad(torch.scaled_cube(x, 2.0).sum(), x)[0].tolist() == [6.0, 24.0]
    assert torch.scaled_cube(torch.tensor(2)).dtype is torch.float32 and torch.scaled_cube(y.bfloat16()).dtype is torch.bfloat16
    assert torch.scaled_cube(torch.empty(2, 3, device="meta")).shape == (2, 3)
    with torch.autocast("cpu"):
        assert torch.scaled_cube(y.bfloat16()).dtype is torch.float32

    for quarter.body.as_array in (False, True):
        t, seen = torch.tensor(2.0, requires_grad=True) * 1, []
        t.register_hook(seen.append)
        torch.quarter(t).backward()
        assert [g.dtype for g in seen] == [torch.float32], f"as an array: {quarter.body.as_array}"

    # transforms, modes, profiles
    rows = torch.arange(6.0).reshape(2, 3)
    assert vmap(lambda r: torch.sum_of_squares(r, 0))(rows).tolist() == [5.0, 50.0]
    assert jvp(torch.scaled_cube, (y.detach(),), (torch.ones(2),))[1].tolist() == (3 * y * y).tolist()
    with Seen() as seen, torch.autograd.profiler.profile() as profile:
        torch.scaled_cube(rows), torch.sum_of_squares(rows)
    assert seen.names == ["aten.cube.default", "aten.sum_of_squares.default"]
    assert {"aten::scaled_cube", "aten::sum_of_squares"} <= {e.name for e in profile.function_events}

    # stub and table
    stub = stubs.render()["_ops.pyi"]
    assert "def scaled_cube(input: Tensor, scale: _Number = ..., *, out: Any = ...) -> Tensor: ..." in stub
    assert "    def scaled_cube_(self, scale: _Number = ...) -> Tensor: ..." in stub
    row = table.render([RECORDS["scaled_cube"]]).splitlines()[2].split()
    assert row[0] == "scaled_cube" and row[2] == "native" and row[-4:] == ["grad", "method", "in-place", "out"]


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
