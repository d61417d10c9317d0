"""Products with Jacobians and Hessians, and these matrices themselves, of functions of tensors.

Reverse mode throughout: a Jacobian-vector product is taken by differentiating the vector-Jacobian product, which is linear in its
cotangent (the double-backward trick).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_tape.annotations import Arguments, Fn
from autograd_tape.modes import GradMode, grad_mode

from .._tensor import Tensor, frontend
from .engine import grad
from .grad_mode import enable_grad, set_grad_enabled

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]

INPUT, OUTPUT = "inputs", "outputs of the user-provided function"


def _as_tuple(value: Any, what: str, function: str) -> tuple[bool, Arguments]:
    """(whether it was a tuple, the tuple); TypeError where it holds anything but tensors."""
    single = not isinstance(value, tuple)
    tensors = (value,) if single else value
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            found = f"given {what} has type {type(t)}." if single else f"value at index {i} has type {type(t)}."
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {found}")
    return not single, tensors


def _fresh(tensors: Arguments, create_graph: bool, need_graph: bool) -> Arguments:
    """The inputs to differentiate with respect to: views in the caller's graph with `create_graph`, else leaves of their own."""
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph) for t in tensors)


def _release(results: Tensor | tuple[Tensor | tuple[Tensor, ...], ...], create_graph: bool) -> Any:
    """Results without history, unless it was asked for."""
    if create_graph:
        return results
    return results.detach() if isinstance(results, Tensor) else tuple(_release(r, create_graph) for r in results)


def _like(results: tuple[object, ...], is_tuple: bool) -> Any:
    return results if is_tuple else results[0]


def _check_vector(v: Arguments, other: Arguments, other_is_tuple: bool) -> None:
    if len(v) != len(other):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}." if other_is_tuple else
                           "The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, other)):
        if a.size() != b.size():
            raise RuntimeError(f"{f'Entry {i} in ' if other_is_tuple else ''}v has invalid size: should be {b.size()} but got {a.size()}.")


_INDEPENDENT = {
    "hessian": "The hessian of the user-provided function with respect to input {i} is independent of the input. This is not allowed in "
               "strict mode. You should ensure that your function is thrice differentiable and that the hessian depends on the inputs.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
                "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
                "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example).",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not allowed "
                   "in strict mode.",
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a differentiable "
               "manner from the input when running in strict mode.",
}
_UNUSED = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double backward "
                  "trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not allowed "
                         "in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


def _require_graph(tensors: tuple[Tensor, ...], what: str, strict: bool) -> None:
    """In strict mode: everything was computed from the inputs."""
    for i, t in enumerate(tensors if strict else ()):
        if t is None:
            raise RuntimeError(_UNUSED["back"].format(i=i))
        if not t.requires_grad:
            raise RuntimeError(_INDEPENDENT[what].format(i=i))


def _zeros_for_none(grads: Arguments, like: Arguments, strict: bool, create_graph: bool, stage: str) -> tuple[Tensor, ...]:
    """Gradients with zeros where there is none; in strict mode an error instead."""
    filled = []
    for i, (g, x) in enumerate(zip(grads, like)):
        if g is None:
            if strict:
                raise RuntimeError(_UNUSED[stage].format(i=i))
            g = frontend.zeros_like(x)
        elif strict and create_graph and not g.requires_grad:
            what = "hessian" if stage.startswith("double") else "jacobian"
            raise RuntimeError(f"The {what} of the user-provided function is independent of input {i}. This is not allowed in strict mode "
                               "when create_graph=True.")
        filled.append(g)
    return tuple(filled)


def _grad(outputs: Arguments, inputs: tuple[object, ...], cotangents: Sequence[Tensor] | None = None, create_graph: bool = False,
          retain_graph: bool | None = None, batched: bool = False) -> Arguments:
    """Gradients with None where an input was not used, also where no output requires grad."""
    given = (None,) * len(outputs) if cotangents is None else cotangents
    used = [(o, v) for o, v in zip(outputs, given) if o is not None and o.requires_grad]
    if not used:
        return (None,) * len(inputs)
    return grad(tuple(o for o, _ in used), inputs, tuple(v for _, v in used), create_graph=create_graph, retain_graph=retain_graph,
                allow_unused=True, is_grads_batched=batched)


def _one_element(tensors: Arguments, is_tuple: bool) -> bool:
    return len(tensors) == 1 and tensors[0].nelement() == 1


def vjp(func: Fn, inputs: object, v: object = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), the product of `v` with the Jacobian there).

    Args:
        func: from tensors to a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        v: of the output's structure and shapes; may be left out where the output is a single element.
        create_graph: results can be differentiated again.
        strict: an error where an output does not depend on an input; else zeros.

    >>> import torchcompat as torch
    >>> torch.autograd.functional.vjp(lambda x: x ** 2, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        many_in, xs = _as_tuple(inputs, INPUT, "vjp")
        xs = _fresh(xs, create_graph, True)
        many_out, outputs = _as_tuple(func(*xs), OUTPUT, "vjp")
        _require_graph(outputs, "outputs", strict)
        if v is not None:
            _, vector = _as_tuple(v, "v", "vjp")
            vector = _fresh(vector, create_graph, False)
            _check_vector(vector, outputs, many_out)
        else:
            if not _one_element(outputs, many_out):
                raise RuntimeError("The vector v can only be None if the user-provided function returns a single Tensor with a single "
                                   "element.")
            vector = (None,)
    with set_grad_enabled(True if create_graph else grad_mode() is GradMode.ENABLED):
        product = _zeros_for_none(_grad(outputs, xs, vector, create_graph), xs, strict, create_graph, "back")
    return _like(_release(outputs, create_graph), many_out), _like(_release(product, create_graph), many_in)


def jvp(func: Fn, inputs: object, v: object = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), the product of the Jacobian there with `v`, which has the structure of the inputs).

    >>> import torchcompat as torch
    >>> torch.autograd.functional.jvp(lambda x: x.sum(), torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor(3.), tensor(11.))
    """
    with enable_grad():
        many_in, xs = _as_tuple(inputs, INPUT, "jvp")
        xs = _fresh(xs, create_graph, True)
        if v is not None:
            _, vector = _as_tuple(v, "v", "jvp")
            vector = _fresh(vector, create_graph, False)
            _check_vector(vector, xs, many_in)
        else:
            if not _one_element(xs, many_in):
                raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a "
                                   "single element.")
            vector = (None,)
        many_out, outputs = _as_tuple(func(*xs), OUTPUT, "jvp")
        _require_graph(outputs, "outputs", strict)
        # The product is linear in the cotangents, so any will do that hold no inf or nan.
        cotangents = tuple(frontend.zeros_like(o).requires_grad_() for o in outputs)
        grads = _grad(outputs, xs, cotangents, True)
        _require_graph(grads, "grad_inputs", strict)
    with set_grad_enabled(True if create_graph else grad_mode() is GradMode.ENABLED):
        product = _zeros_for_none(_grad(grads, cotangents, vector, create_graph), outputs, strict, create_graph, "back_trick")
    return _like(_release(outputs, create_graph), many_out), _like(_release(product, create_graph), many_out)


def _construct_standard_basis_for(tensors: tuple[Tensor, ...], tensor_numels: tuple[int, ...]) -> tuple[Tensor, ...]:
    """The rows of the identity, split into one block of columns per tensor, in its dtype."""
    assert len(tensors) == len(tensor_numels) > 0
    total, start, blocks = sum(tensor_numels), 0, []
    for t, n in zip(tensors, tensor_numels):
        block = t.new_zeros((total, n))
        block.diagonal(-start).fill_(1)
        blocks.append(block)
        start += n
    return tuple(blocks)


def _vectorized(outputs: tuple[Tensor, ...], xs: Arguments, create_graph: bool) -> tuple[tuple[Tensor, ...], ...]:
    """The Jacobian, all rows in one batched gradient."""
    numels = tuple(o.numel() for o in outputs)
    rows = _construct_standard_basis_for(outputs, numels)
    flat = tuple(o.reshape(-1) for o in outputs)
    found = _grad(flat, xs, rows, create_graph, batched=True)
    blocks = []
    for g, x in zip(found, xs):
        g = frontend.zeros_like(x).expand((sum(numels), *x.shape)) if g is None else g
        blocks.append([part.reshape(o.shape + x.shape) for part, o in zip(g.split(list(numels), 0), outputs)])
    return tuple(zip(*blocks))


def jacobian(func: Fn, inputs: object, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
             strategy: str = "reverse-mode") -> Any:
    """The Jacobian of `func`: `jacobian[i][j]` of shape output i's plus input j's, without the level where there is a single one.

    >>> import torchcompat as torch
    >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
                             'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".')
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError('torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not '
                                      'supported together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.')
        return _forward_jacobian(func, inputs, strict, vectorize)
    with enable_grad():
        many_in, xs = _as_tuple(inputs, INPUT, "jacobian")
        xs = _fresh(xs, create_graph, True)
        many_out, outputs = _as_tuple(func(*xs), OUTPUT, "jacobian")
        _require_graph(outputs, "outputs", strict)
        if vectorize:
            if strict:
                raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                                   "Please either set `strict=False` or `vectorize=False`.")
            blocks = _vectorized(outputs, xs, create_graph)
        else:
            blocks = tuple(_rows(i, o, xs, create_graph, strict) for i, o in enumerate(outputs))
        return _nest(_release(blocks, create_graph), many_out, many_in)


def _rows(i: int, output: Any, xs: Arguments, create_graph: bool, strict: bool) -> Arguments:
    """The Jacobian of output `i`, a row at a time."""
    columns: list[list[object]] = [[] for _ in xs]
    for j in range(output.nelement()):
        found = _grad((output.reshape(-1)[j],), xs, None, create_graph, retain_graph=True)
        for column, g, x in zip(columns, found, xs):
            if g is None:
                if strict:
                    raise RuntimeError(f"Output {i} of the user-provided function is independent of input "
                                       f"{len(columns) and columns.index(column)}. "
                                       "This is not allowed in strict mode.")
                g = frontend.zeros_like(x)
            elif strict and create_graph and not g.requires_grad:
                raise RuntimeError(f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict "
                                   "mode when create_graph=True.")
            column.append(g)
    return tuple(frontend.stack(column, 0).view(output.size() + x.size()) if column else x.new_zeros(output.size() + x.size())
                 for column, x in zip(columns, xs))


def _nest(blocks: Arguments, many_out: bool, many_in: bool) -> Any:
    rows = blocks if many_in else tuple(row[0] for row in blocks)
    return rows if many_out else rows[0]


def _forward_jacobian(func: Fn, inputs: object, strict: bool, vectorize: bool) -> Any:
    """The Jacobian, a column at a time in forward mode."""
    if strict:
        raise RuntimeError('torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together '
                           '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.')
    if not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                                  "`vectorize=True`.")
    from . import forward_ad

    many_in, xs = _as_tuple(inputs, INPUT, "jacobian")
    basis = _construct_standard_basis_for(xs, tuple(x.numel() for x in xs))
    many_out, columns = False, []
    for n in range(basis[0].shape[0]):
        with forward_ad.dual_level():
            duals = tuple(forward_ad.make_dual(x, b[n].view_as(x)) for x, b in zip(xs, basis))
            many_out, outputs = _as_tuple(func(*duals), OUTPUT, "jacobian")
            unpacked = [forward_ad.unpack_dual(o) for o in outputs]
            columns.append([frontend.zeros_like(u.primal) if u.tangent is None else u.tangent for u in unpacked])
    blocks = []
    for outs in zip(*columns):
        row, start = [], 0
        for x in xs:
            n = x.numel()
            row.append(frontend.stack(list(outs[start: start + n]), -1).reshape(outs[0].shape + x.shape))
            start += n
        blocks.append(tuple(row))
    return _nest(tuple(blocks), many_out, many_in)




def hessian(func: Fn, inputs: object, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a function with a single element as its output.

    >>> import torchcompat as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    many_in, xs = _as_tuple(inputs, INPUT, "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def one(*args: object) -> object:
        output = func(*args)
        many, outputs = _as_tuple(output, OUTPUT, "hessian")
        _require_graph(outputs, "outputs", strict)
        if many:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if output.nelement() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return output.squeeze()

    def gradient(*args: Tensor) -> object:
        if outer_jacobian_strategy == "forward-mode":
            args = tuple(x.requires_grad_(True) for x in args)
        first = jacobian(one, args, create_graph=True)
        _require_graph(first, "jacobian", strict)
        return first

    second = jacobian(gradient, xs, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy)
    return second if many_in else second[0][0]


def _gradient_graph(func: Fn, inputs: object, name: str, v: object, create_graph: bool, strict: bool) -> Arguments:
    """(many_in, xs, vector, output, its gradient with a graph): what vhp and hvp share."""
    many_in, xs = _as_tuple(inputs, INPUT, name)
    xs = _fresh(xs, create_graph, True)
    if v is not None:
        _, vector = _as_tuple(v, "v", name)
        vector = _fresh(vector, create_graph, False)
        _check_vector(vector, xs, many_in)
    else:
        if not _one_element(xs, many_in):
            raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
                               "element.")
        vector = (None,)
    many_out, outputs = _as_tuple(func(*xs), OUTPUT, name)
    _require_graph(outputs, "outputs", strict)
    if many_out or not isinstance(outputs[0], Tensor):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].nelement() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    first = _grad(outputs, xs, None, True)
    _require_graph(first, "jacobian", strict)
    return many_in, xs, vector, outputs[0], first


def vhp(func: Fn, inputs: object, v: object = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(*inputs), the product of `v` with the Hessian there).

    >>> import torchcompat as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        many_in, xs, vector, output, first = _gradient_graph(func, inputs, "vhp", v, create_graph, strict)
    with set_grad_enabled(True if create_graph else grad_mode() is GradMode.ENABLED):
        product = _zeros_for_none(_grad(first, xs, vector, create_graph), xs, strict, create_graph, "double_back")
    return _release(output, create_graph), _like(_release(product, create_graph), many_in)


def hvp(func: Fn, inputs: object, v: object = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(*inputs), the product of the Hessian there with `v`); equal to `vhp` where second derivatives are continuous.

    >>> import torchcompat as torch
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        many_in, xs, vector, output, first = _gradient_graph(func, inputs, "hvp", v, create_graph, strict)
        cotangents = tuple(frontend.zeros_like(x).requires_grad_() for x in xs)
        double = _grad(first, xs, cotangents, True)
        _require_graph(double, "hessian", strict)
    with set_grad_enabled(True if create_graph else grad_mode() is GradMode.ENABLED):
        product = _zeros_for_none(_grad(double, cotangents, vector, create_graph), xs, strict, create_graph, "double_back_trick")
    return _release(output, create_graph), _like(_release(product, create_graph), many_in)
