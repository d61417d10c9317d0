"""gradcheck and gradgradcheck: analytical gradients held to central differences.

The slow mode compares whole Jacobians, entry by entry. The fast mode compares one number per input and output, v^T J u for random u
and v: the numerical side perturbs the input along u, the analytical side is one vector-Jacobian product with v. Functions of complex
numbers are compared by their conjugate Wirtinger derivatives, and complex outputs in two real parts.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Callable, Iterator, Sequence

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn, Keywords
from autograd_tape.dtypes import float64, promote

from .._calls.absent import absences as _absences
from .._tensor import Tensor, frontend
from ..random import Generator, rand, randn_like
from .engine import grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient that is wrong."""


NONDETERMINISTIC = """

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected. A tolerance can be given with `nondet_tol=<tol>`."""
BATCHED = """gradcheck or gradgradcheck failed while testing batched gradient computation.
The check can be left out with `check_batched_grad=False`."""
BATCHED_FORWARD = """gradcheck failed while testing batched gradient computation with forward-mode AD.
The check can be left out with `check_batched_forward_grad=False`."""
FAST_ONLY = """Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode! Use `fast_mode=False` to compare element by element."""


def _as_tuple(x: Any) -> tuple[Tensor, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _checked(x: object) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(o for o in _as_tuple(outputs) if o.requires_grad)


def _has_gradient(t: Tensor) -> bool:
    return isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())


def _close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    wide = promote(a.dtype, b.dtype)
    a, b = a.to(dtype=wide), b.to(dtype=wide)
    # Not allclose, which a class that carries out operations itself cannot see.
    return bool(((a - b).abs() <= b.abs() * rtol + atol).all())


# -- numerical side -------------------------------------------------------------------------------------------------


def _clones(outputs: Tensor) -> list[Tensor]:
    return [o.detach().clone() for o in _as_tuple(outputs)]


def _difference(fn: Callable[[], Any], entry: Tensor, direction: Tensor, eps: float, index: Sequence[int]) -> list[Tensor]:
    """The derivative of each output of `fn` along `direction`, while `entry` is moved in place: whoever looks at it sees it move."""
    original = entry.clone()
    try:
        entry.copy_(original - direction * eps)
        low = _clones(fn())
        entry.copy_(original + direction * eps)
        high = _clones(fn())
    finally:
        entry.copy_(original)
    where = f"on index {index} " if index is not None else ""
    found = []
    for a, b in zip(low, high):
        for what in ("shape", "dtype"):
            one, two = getattr(a, what), getattr(b, what)
            if one != two:
                raise AssertionError(f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, "
                                     f"but got: {what}s {one} and {two}.")
        found.append(((b - a) / (2 * eps)).detach().reshape(-1))
    return found


def _wirtinger(fn: Callable[[], Any], entry: Any, u: Any, w: Any, eps: float, index: Any, forward: bool) -> list[Tensor]:
    """Derivatives along `u`; of a complex entry the conjugate Wirtinger derivative, its imaginary part along `w`."""
    dx = _difference(fn, entry, u, eps, index)
    if not entry.is_complex() or forward:
        return dx
    dy = _difference(fn, entry, w * 1j, eps, index)
    return [a + b * 1j for a, b in zip(dx, dy)]


def _units(x: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """(index, unit vector) for each element."""
    flat = frontend.zeros_like(x.detach()).contiguous().view(-1)
    for n in range(flat.numel()):
        unit = flat.clone()
        unit[n] = 1
        yield _unravel(n, tuple(x.shape)), unit.view(x.shape).clone()  # no view, which rules of Functions would see


def _unravel(n: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        n, i = divmod(n, size)
        index.append(i)
    return tuple(reversed(index))


def _numerical_jacobian(func: Callable[..., Any], inputs: tuple[Any, ...], outputs: Sequence[Any], eps: float,
                        forward: bool = False) -> list[list[Any]]:
    """[input][output] -> (elements of the input, elements of the output)."""
    found = []
    for x in inputs:
        if not _checked(x):
            continue
        entry = x.data
        rows: list[list[Any]] = []
        for index, unit in _units(x):
            rows.append(_wirtinger(lambda: func(*inputs), entry, unit, unit, eps, index, forward))
        columns = []
        for j, o in enumerate(outputs):
            columns.append(frontend.stack([r[j] for r in rows], 0) if rows
                           else frontend.zeros_like(o.detach()).reshape(-1)[:0].view(0, o.numel()))
        found.append(columns)
    return found


# -- analytical side ------------------------------------------------------------------------------------------------


def _vjp(output: Any, inputs: list[Any], v: Any) -> Arguments:
    return grad(output, inputs, v, retain_graph=True, allow_unused=True)


def _rows(output: Any, inputs: list[Any], v: Any) -> list[list[Any]]:
    """[input] -> rows of the Jacobian; the single row v^T J where `v` is given."""
    output = output.clone()
    if v is not None:
        return [[None if g is None else g.clone()] for g in _vjp(output, inputs, v.reshape(output.shape))]
    rows: list[list[object]] = [[] for _ in inputs]
    base = frontend.zeros_like(output.detach()).contiguous()
    flat = base.view(-1)
    for j in range(flat.numel()):
        flat.zero_()
        flat[j] = 1.0
        for row, g in zip(rows, _vjp(output, inputs, base)):
            row.append(None if g is None else g.clone())
    return rows


def _matrix(rows: list[list[Any]], inputs: list[Any], n: int) -> tuple[list[Tensor], bool, bool]:
    """([input] -> (elements of the input, n)), whether sizes and dtypes of the gradients were right."""
    sizes = types = True
    found = []
    for row, x in zip(rows, inputs):
        columns = []
        for g in row:
            if g is None:
                columns.append(frontend.zeros_like(x.detach()).reshape(-1))
                continue
            sizes, types = sizes and g.size() == x.size(), types and g.dtype == x.dtype
            columns.append(g.detach().reshape(-1) if g.numel() == x.numel() else frontend.zeros_like(x.detach()).reshape(-1))
        found.append(frontend.stack(columns, 1) if columns else frontend.zeros_like(x.detach()).reshape(-1, 1)[:, :0])
    return found, sizes, types


def _analytical_jacobian(inputs: tuple[object, ...], output: Any, nondet_tol: float, check_dtypes: bool, v: Any = None) -> list[Tensor]:
    """The Jacobian of one output by backward, computed twice: both must agree to `nondet_tol`."""
    wanted = [x for x in inputs if _checked(x)]
    n = output.numel() if v is None else 1
    first, sizes, types = _matrix(_rows(output, wanted, v), wanted, n)
    second, *_ = _matrix(_rows(output, wanted, v), wanted, n)
    if check_dtypes and not types:
        raise GradcheckError("Gradient has dtype mismatch")
    if not sizes:
        raise GradcheckError("Analytical gradient has incorrect size")
    for a, b in zip(first, second):
        if a.numel() and float((a - b).abs().max()) > nondet_tol:
            raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                                 "different values, although analytical gradient matches numerical gradient.The tolerance for "
                                 f"nondeterminism was {nondet_tol}.{NONDETERMINISTIC}")
    return first


def _forward_products(func: Callable[..., Any], inputs: Arguments, outputs: Sequence[Any], check_dtypes: bool,
                      directions: Any) -> list[list[Any]]:
    """[input][output] -> (directions, elements of the output) by forward mode; all unit vectors where `directions` is None."""
    from . import forward_ad

    found: list[list[Any]] = []
    for i, x in enumerate(inputs):
        if not _checked(x):
            continue
        if x.is_complex():
            raise ValueError("Expected inputs to be non-complex for _get_analytical_jacobian_forward_ad.")
        rows: list[list[Any]] = []
        for u in ([unit for _, unit in _units(x)] if directions is None else [directions[len(found)].view(x.shape).clone()]):
            with forward_ad.dual_level():
                args = []
                for j, a in enumerate(inputs):
                    args.append(forward_ad.make_dual(a.detach(), u if j == i else frontend.zeros_like(a.detach())) if _checked(a) else a)
                row = []
                for o, expected in zip(filter(_has_gradient, _as_tuple(func(*args))), outputs):
                    tangent = forward_ad.unpack_dual(o).tangent
                    if tangent is None:
                        tangent = frontend.zeros_like(expected.detach())
                    elif check_dtypes and tangent.is_complex() != expected.is_complex():
                        raise GradcheckError("Forward AD gradient has dtype mismatch.")
                    row.append(tangent.detach().reshape(-1))
                rows.append(row)
        found.append([frontend.stack([r[j] for r in rows], 0) if rows else frontend.new_zeros(o.detach(), (0, o.numel()))
                      for j, o in enumerate(outputs)])
    return found


# -- comparing ------------------------------------------------------------------------------------------------------


class _Comparison:
    """One function of real outputs at one point: numerical against analytical."""

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any], *, forward: bool,
                 complex_at: Sequence[int], imaginary: bool) -> None:
        self.func, self.inputs, self.options, self.forward = func, inputs, options, forward
        self.complex_at, self.imaginary = complex_at, imaginary

    def mismatch(self, analytical: object, numerical: object, output: int, position: int) -> str:
        """The message of a difference."""
        split = self.complex_at and (position if self.forward else output) in self.complex_at
        part, element = "imaginary" if self.imaginary else "real", "inputs" if self.forward else "outputs"
        prefix = f"While considering the {part} part of complex {element} only, " if split else ""
        mode = "computed with forward mode " if self.forward else ""
        return (f"{prefix}Jacobian {mode}mismatch for output {output} with respect to input {position},\nnumerical:{numerical}\n"
                f"analytical:{analytical}\n")

    def jacobians(self, all_outputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Iterator[tuple[int, int, Any, Any]]:
        """(output, input, analytical, numerical) element by element."""
        o = self.options
        numerical = _numerical_jacobian(self.func, self.inputs, all_outputs, o["eps"], self.forward)
        kept = [[n for n, out in zip(row, all_outputs) if out.requires_grad] for row in numerical]
        if self.forward:
            forward = _forward_products(self.func, self.inputs, all_outputs, o["check_grad_dtypes"], None)
            forward = [[a for a, out in zip(row, all_outputs) if out.requires_grad] for row in forward]
        for j, output in enumerate(outputs):
            analytical = [row[j] for row in forward] if self.forward else \
                _analytical_jacobian(self.inputs, output, o["nondet_tol"], o["check_grad_dtypes"])
            for i, a in enumerate(analytical):
                yield j, i, a, kept[i][j]

    def slow(self, func_out: Tensor, outputs: tuple[Tensor, ...]) -> None:
        """Whole Jacobians."""
        everything = _as_tuple(func_out)
        if not outputs:
            for row in _numerical_jacobian(self.func, self.inputs, [o for o in everything if isinstance(o, Tensor)], self.options["eps"],
                                           self.forward):
                self._all_zero(row)
            return
        for j, i, a, n in self.jacobians(everything, outputs):
            if not _close(a, n, self.options["rtol"], self.options["atol"]):
                raise GradcheckError(self.mismatch(a, n, j, i))

    @staticmethod
    def _all_zero(tensors: Sequence[Any]) -> None:
        for t in tensors:
            if t.numel() and not _close(t, frontend.zeros_like(t), 1e-5, 1e-12):
                raise GradcheckError("Numerical gradient for function expected to be zero")

    def fast(self, func_out: Any, outputs: tuple[Any, ...]) -> None:
        """One number per input and output."""
        o, generator = self.options, Generator()
        everything = tuple(t for t in _as_tuple(func_out) if _has_gradient(t))
        wanted = [x for x in self.inputs if _checked(x)]

        def draw(t: Any, real: bool) -> Any:
            dtype = t.dtype.to_real() if real and t.is_complex() else t.dtype
            v = rand((t.numel(),), generator=generator, dtype=dtype)
            return v / v.norm() if v.numel() else v

        us = [(draw(x, True), draw(x, True) if x.is_complex() else None) for x in wanted]
        if not outputs:
            for x, (ur, ui) in zip(wanted, us):
                self._all_zero(self._along(x, ur, ui))
            return
        vs = [] if self.forward else [draw(t, False) for t in outputs]
        numerical = [[n for n, t in zip(self._along(x, ur, ui), everything) if t.requires_grad] for x, (ur, ui) in zip(wanted, us)]
        if self.forward:
            products = _forward_products(self.func, self.inputs, everything, o["check_grad_dtypes"], [u for u, _ in us])
            forward = [[p.reshape(-1) for p, t in zip(row, everything) if t.requires_grad] for row in products]
        for j, output in enumerate(outputs):
            rows = [] if self.forward else _analytical_jacobian(self.inputs, output, o["nondet_tol"], o["check_grad_dtypes"], vs[j])
            for i, (ur, ui) in enumerate(us):
                scale = float(ur.sum()) + (float(ui.sum()) if ui is not None else 0.0)
                n = numerical[i][j]
                if self.forward:
                    a = forward[i][j]
                else:
                    n = (n * vs[j]).sum()
                    row = rows[i].reshape(-1)
                    a = (row * ur).sum() if ui is None else (frontend.real(row) * ur).sum() + (frontend.imag(row) * ui).sum() * 1j
                    scale *= float(vs[j].sum())
                if not _close(a, n, o["rtol"], o["atol"] * scale):
                    raise GradcheckError(self.mismatch(a, n, j, i) + self._in_full(_as_tuple(func_out), outputs, j, i))

    def _along(self, x: Any, ur: Any, ui: Any) -> list[Any]:
        entry = x.data
        u, w = ur.reshape(x.shape), None if ui is None else ui.reshape(x.shape)

        def only_differentiable() -> list[Any]:
            return [t for t in _as_tuple(self.func(*self.inputs)) if _has_gradient(t)]

        return _wirtinger(only_differentiable, entry, u, w, self.options["eps"], None, self.forward)

    def _in_full(self, everything: Arguments, outputs: Arguments, output: int, position: int) -> str:
        """What the Jacobians of a failed fast comparison are."""
        for j, i, a, n in self.jacobians(everything, outputs):
            if (j, i) == (output, position):
                worst = (a - n).abs().max()
                ok = _close(a, n, self.options["rtol"], self.options["atol"])
                return ("\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. See: "
                        "https://github.com/pytorch/pytorch/issues/53876 for more background \nabout fast mode. Below, we recompute "
                        f"numerical and analytical jacobians in slow mode:\n\nNumerical:\n {n}\nAnalytical:\n{a}\n\nThe max per-element "
                        f"difference (slow mode) is: {worst}.\n" + (FAST_ONLY if ok else ""))
        return ""


def _part(func: Fn, take: Callable[[Any], Any]) -> Fn:
    """`func` with its complex outputs' real or imaginary parts."""
    def wrapped(*args: object) -> Arguments:
        return tuple(take(o) if isinstance(o, Tensor) and o.is_complex() else o for o in _as_tuple(func(*args)))

    return wrapped


def _real_and_imaginary(func: Callable[..., Any], func_out: Any, inputs: Arguments, outputs: Arguments,
                        options: Keywords) -> None:
    """Compares backward, and forward mode, each in two real parts where complex numbers are involved."""
    def compare(function: Fn, args: tuple[object, ...], result: Any, forward: bool, complex_at: Sequence[int],
                imaginary: bool) -> None:
        comparison = _Comparison(function, args, options, forward=forward, complex_at=complex_at, imaginary=imaginary)
        (comparison.fast if options["fast_mode"] else comparison.slow)(result, _differentiable(result))

    if options["check_backward_ad"]:
        at = [i for i, o in enumerate(_as_tuple(func_out)) if isinstance(o, Tensor) and o.is_complex()]
        if at:
            for imaginary, take in ((True, frontend.imag), (False, frontend.real)):
                function = _part(func, take)
                compare(function, inputs, function(*inputs), False, at, imaginary)
        else:
            compare(func, inputs, func_out, False, (), False)
    if options["check_forward_ad"]:
        at = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.is_complex()]
        if not at:
            compare(func, inputs, func_out, True, (), False)
        for imaginary in (True, False) if at else ():
            parts = tuple((frontend.imag if imaginary else frontend.real)(x).detach().requires_grad_(x.requires_grad) if i in at else x
                          for i, x in enumerate(inputs))

            def function(*args: object, imaginary: bool = imaginary) -> Any:
                whole = list(args)
                for i in at:
                    whole[i] = frontend.complex(*((frontend.real(inputs[i]), args[i]) if imaginary
                                                  else (args[i], frontend.imag(inputs[i]))))
                return func(*whole)

            compare(function, parts, function(*parts), True, at, imaginary)
        if options["check_undefined_grad"]:
            _check_undefined_forward(func, inputs)


def _check_inputs(inputs: tuple[Tensor, ...]) -> None:
    found = False
    for i, x in enumerate(inputs):
        if not _checked(x):
            continue
        if x.dtype.name not in ("float64", "complex128"):
            warned.warn(f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely "
                        "fail if all the inputs are not of double precision floating point or complex. ")
        if not all(s > 0 or n <= 1 for s, n in zip(x.stride(), x.size())):
            raise RuntimeError(f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                               "be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                               "passing it to gradcheck.")
        found = True
    if not found:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")


def _check_batched(inputs: tuple[object, ...], output: Any, nr: int) -> None:
    """A batch of gradients at once must equal them one by one."""
    wanted = [x for x in inputs if _checked(x)]
    cotangents = [randn_like(output.detach()) for _ in range(2)]
    expected = [_vjp(output, wanted, v) for v in cotangents]
    try:
        found = grad(output, wanted, frontend.stack(cotangents), retain_graph=True, allow_unused=True, is_grads_batched=True)
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{BATCHED}") from error
    _same_batches(found, expected, wanted, nr, BATCHED)


def _same_batches(found: Any, expected: list[Any], wanted: list[Any], nr: int, text: str) -> None:
    for i, (batch, x, *singles) in enumerate(zip(found, wanted, *expected)):
        reference = frontend.stack([frontend.zeros_like(x.detach()) if s is None else s for s in singles])
        batch = frontend.zeros_like(reference) if batch is None else batch
        if not _close(batch, reference, 1e-5, 1e-8):
            raise GradcheckError(f"For output {nr} and input {i}:\n\n{text}\n\nGot:\n{batch}\n\nExpected:\n{reference}")


def _check_batched_forward(func: Callable[..., Any], inputs: Arguments) -> None:
    """A batch of tangents at once must equal them one by one."""
    from . import forward_ad
    from .._vmap_internals import _vmap

    for i, x in enumerate(inputs):
        if not _checked(x):
            continue

        def product(tangent: Any, i: int = i, x: Any = x) -> Arguments:
            with forward_ad.dual_level():
                args = tuple(forward_ad.make_dual(x.detach(), tangent) if j == i else a.detach() if isinstance(a, Tensor) else a
                             for j, a in enumerate(inputs))
                unpacked = [forward_ad.unpack_dual(o) for o in filter(_has_gradient, _as_tuple(func(*args)))]
                return tuple(frontend.zeros_like(u.primal) if u.tangent is None else u.tangent for u in unpacked)

        tangents = [randn_like(x.detach()) for _ in range(2)]
        expected = [product(t) for t in tangents]
        try:
            found = _vmap(product)(frontend.stack(tangents))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{BATCHED_FORWARD}") from error
        _same_batches(found, expected, list(expected[0]), i, BATCHED_FORWARD)


def _check_multiplies(outputs: tuple[Tensor, ...], inputs: tuple[Tensor, ...], masked: bool) -> None:
    """Zero cotangents must give zero gradients, of the inputs' type."""
    wanted = [x for x in inputs if _checked(x)]
    if not wanted:
        raise GradcheckError("no Tensors requiring grad found in input")
    if not outputs:
        return
    found = grad(outputs, wanted, [frontend.zeros_like(o.detach()) for o in outputs], allow_unused=True, retain_graph=True)
    for g, x in zip(found, wanted):
        if g is None:
            continue
        if g.layout is not x.layout:
            raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {x.layout})")
        if not (_close(g, frontend.zeros_like(g), 1e-5, 1e-8) if masked else bool(g.eq(0).all())):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype != x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.device != x.device:
            raise GradcheckError("grad is incorrect device")
        if g.size() != x.size():
            raise GradcheckError("grad is incorrect size")


def _check_undefined(func: Fn, outputs: tuple[Tensor, ...], inputs: tuple[Tensor, ...]) -> None:
    """Backward must take undefined cotangents, of all outputs and of each, for zeros."""
    from ._functions import undefined_grad

    wanted = [x for x in inputs if _checked(x)]
    if not outputs:
        return

    def check(chosen: Callable[[int], bool]) -> None:
        fresh = _differentiable(func(*inputs))
        hidden = [undefined_grad(o) if chosen(i) else o for i, o in enumerate(fresh)]
        hint = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
        try:
            found = grad(hidden, wanted, [frontend.zeros_like(o.detach()) for o in fresh], allow_unused=True)
        except RuntimeError as error:
            _warn_undefined()
            raise GradcheckError(f"Expected backward function to handle undefined output grads. {hint}") from error
        for g in found:
            if g is not None and not bool(g.eq(0).all()):
                _warn_undefined()
                raise GradcheckError("Expected all input grads to be undefined or zero when all output grads are undefined or "
                                     "zero. " + hint)

    check(lambda i: True)
    if len(outputs) > 1:
        for n in range(len(outputs)):
            check(n.__eq__)


def _check_undefined_forward(func: Fn, inputs: Arguments) -> None:
    """An input without a tangent must count as one with a tangent of zeros."""
    from . import forward_ad

    with forward_ad.dual_level():
        generator = Generator()  # torch's check draws nothing from the common one
        duals = [forward_ad.make_dual(x.detach(), randn_like(x.detach(), generator=generator)) if _checked(x) else x for x in inputs]
        for i, x in enumerate(inputs):
            if not _checked(x):
                continue
            pairs = []
            for instead in (forward_ad.make_dual(x.detach(), frontend.zeros_like(x.detach())), x.detach()):
                args = [*duals[:i], instead, *duals[i + 1:]]
                pairs.append([forward_ad.unpack_dual(o).tangent for o in filter(_has_gradient, _as_tuple(func(*args)))])
            for nr, (zero, undefined) in enumerate(zip(*pairs)):
                if zero is not None and undefined is not None and not _close(zero, undefined, 1e-5, 1e-8):
                    raise GradcheckError("Mismatch in tangent values for output with index: ", nr, " when input: ", x,
                                         " has an undefined tangent value. ", " Got: ", zero, " but expected: ", undefined)


def _warn_undefined() -> None:
    warned.warn("Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
                "existing callers of this function. If this is true for you, you can call this function with "
                "\"check_undefined_grad=False\" to disable "
                "the feature")


# -- the interface --------------------------------------------------------------------------------------------------


def gradcheck(func: Callable[..., Tensor | Sequence[Tensor]], inputs: Tensor | Sequence[Tensor], *, eps: float = 1e-6, atol: float = 1e-5,
              rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None) -> bool:
    """Whether the gradients of `func` with respect to those `inputs` that require grad agree with central differences.

    Args:
        func: from tensors to a tensor or a tuple of tensors.
        inputs: its arguments; float64 or complex128, without overlapping memory.
        eps: how far inputs are moved.
        raise_exception: a GradcheckError that says what is wrong; else False is returned.
        nondet_tol: how far two backward passes may differ.
        check_undefined_grad: whether undefined cotangents are taken for zeros.
        check_batched_grad: whether a batch of cotangents gives the same as one at a time.
        check_forward_ad: whether forward mode agrees, too.
        fast_mode: compare one random projection per input and output instead of all entries.

    >>> import torchcompat as torch
    >>> torch.autograd.gradcheck(torch.sin, torch.rand(3, dtype=torch.float64, requires_grad=True))
    True
    """
    assert check_forward_ad or check_backward_ad, "Expected at least one of check_forward_ad or check_backward_ad to be True"
    assert not (check_batched_grad and not check_backward_ad), "Setting check_batched_grad=True requires check_backward_ad to be True"
    assert not (check_batched_forward_grad and
                not check_forward_ad), "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
    options = {"eps": eps, "atol": atol, "rtol": rtol, "nondet_tol": nondet_tol, "check_grad_dtypes": check_grad_dtypes,
               "fast_mode": fast_mode, "check_forward_ad": check_forward_ad, "check_backward_ad": check_backward_ad,
               "check_undefined_grad": check_undefined_grad}
    try:
        args = _as_tuple(inputs)
        _check_inputs(args)
        func_out = func(*args)
        outputs = _differentiable(func_out)
        _real_and_imaginary(func, func_out, args, outputs, options)
        if check_batched_forward_grad:
            _check_batched_forward(func, args)
        if check_backward_ad:
            for nr, output in enumerate(outputs if check_batched_grad else ()):
                _check_batched(args, output, nr)
            _check_multiplies(outputs, args, bool(masked))
            if check_undefined_grad:
                _check_undefined(func, outputs, args)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable[..., Tensor | Sequence[Tensor]], inputs: Tensor | Sequence[Tensor],
                  grad_outputs: Tensor | Sequence[Tensor | None] | None = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
                  check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
                  check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False) -> bool:
    """`gradcheck` of the gradients of `func`, with respect to `inputs` and to the cotangents `grad_outputs` (random where None)."""
    assert check_fwd_over_rev or check_rev_over_rev, "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
    assert not (check_undefined_grad and not check_rev_over_rev), "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
    assert not (check_batched_grad and not check_rev_over_rev), "Setting check_batched_grad=True requires check_rev_over_rev to be True"
    args = _as_tuple(inputs)
    if grad_outputs is None:
        cotangents = tuple(_random_cotangent(o, gen_non_contig_grad_outputs) for o in _differentiable(func(*args)))
    else:
        cotangents = _as_tuple(grad_outputs)
    n = len(cotangents)
    # Only what requires grad: an integer output has no cotangent.
    positions = [i for i, x in enumerate(args) if _checked(x)]

    def gradients(*arguments: Any) -> tuple[Any, ...]:
        xs, vs = arguments[: len(arguments) - n], arguments[len(arguments) - n:]
        xs = tuple(x.requires_grad_() if i in positions and not x.requires_grad else x for i, x in enumerate(xs))
        outputs = _differentiable(func(*xs))
        wanted = tuple(x for x in xs if _checked(x))
        return tuple(g for g in grad(outputs, wanted, vs, create_graph=True, allow_unused=True) if g is not None)

    return gradcheck(gradients, args + cotangents, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
                     check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
                     fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, masked=masked)


def _random_cotangent(output: Any, non_contiguous: bool) -> Any:
    apart = non_contiguous and output.dim() > 0
    shape = (*output.shape[:-1], 2 * output.shape[-1]) if apart else output.shape
    v = output.detach().new_empty(shape, dtype=output.dtype if output.is_floating_point() or output.is_complex() else float64)
    (frontend.view_as_real(v) if v.is_complex() else v).uniform_(-1, 1)
    return (v[..., ::2] if apart else v).requires_grad_()


# -- parts of it that programs call ---------------------------------------------------------------------------------------


def _check_part(name: str, grad_out: float) -> None:
    """Warns of a part by its name, and refuses a gradient other than 1."""
    warned.warn(f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be removed "
                "in a future version of PyTorch. If you have a specific use for this or feature request for this to be a stable API, "
                "please file us an issue at https://github.com/pytorch/pytorch/issues/new", FutureWarning)
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(fn: Fn, inputs: Arguments, target: Tensor | Sequence[Tensor] | None = None, eps: float = 1e-3,
                           grad_out: float = 1.0) -> tuple[Tensor, ...]:
    """For each tensor of `target`, or of `inputs`, (its elements, elements of the first output) of central differences of `fn(inputs)`.

    Raises:
        ValueError: `grad_out` is not 1.
    """
    _check_part("get_numerical_jacobian", grad_out)
    wanted = inputs if target is None else _as_tuple(target)
    return tuple([get_numerical_jacobian_wrt_specific_input(lambda *given: fn(given), i, inputs, _as_tuple(fn(inputs)), eps)[0]
                  for i, x in enumerate(inputs) if _checked(x) and any([x is t for t in wanted])])


def get_analytical_jacobian(inputs: Arguments, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
                            ) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """(for each input, (its elements, elements of `output`) by backward, whether twice the same to `nondet_tol`, whether gradients have the
    inputs' sizes, and their dtypes).

    Raises:
        ValueError: `grad_out` is not 1.
    """
    _check_part("get_analytical_jacobian", grad_out)
    wanted = [x for x in inputs if _checked(x)]
    first, sizes, dtypes = _matrix(_rows(output, wanted, None), wanted, output.numel())
    second, *_ = _matrix(_rows(output, wanted, None), wanted, output.numel())
    same = all([not a.numel() or float((a - b).abs().max()) <= nondet_tol for a, b in zip(first, second)])
    return tuple(first), same, sizes, dtypes


def get_numerical_jacobian_wrt_specific_input(fn: Fn, input_idx: int, inputs: Arguments, outputs: Sequence[Tensor],
                                              eps: float, input: Tensor | None = None, is_forward_ad: bool = False) -> tuple[Tensor, ...]:
    """For each of `outputs`, (elements of the input of that number, its elements) of central differences of `fn(*inputs)`."""
    x = inputs[input_idx] if input is None else input
    columns, = _numerical_jacobian(lambda _: fn(*inputs), (x,), outputs, eps, is_forward_ad)
    return tuple(columns)


_absences(__name__)
