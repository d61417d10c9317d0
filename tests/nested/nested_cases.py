"""Calls on nested tensors, to be carried out with torch itself and with this package (`test_nested.py`)."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

from tests.recording import Table, attempted

Case = Callable[[Any], Any]
CASES: dict[str, Case] = {}


def cases(**functions: Case) -> None:
    CASES.update(functions)


def numbers(t: Any, *shape: int) -> Any:
    """Fixed numbers of a shape."""
    n = 1
    for s in shape:
        n *= s
    return (t.arange(n, dtype=t.float64) * 0.7 + 0.3).sin().reshape(shape)


def rows(t: Any, grad: bool = False) -> Any:
    """Matrices of two and three rows of four."""
    return t.nested.nested_tensor([numbers(t, 2, 4), numbers(t, 3, 4)], requires_grad=grad)


def odd(t: Any, grad: bool = False) -> Any:
    """Matrices that have no size in common."""
    return t.nested.nested_tensor([numbers(t, 2, 3), numbers(t, 1, 5)], requires_grad=grad)


def cubes(t: Any) -> Any:
    return t.nested.nested_tensor([numbers(t, 2, 2, 4), numbers(t, 2, 3, 4)])


def _loaded(t: Any, value: Any) -> Any:
    """What a file gives that a value was saved to."""
    file = io.BytesIO()
    t.save(value, file)
    file.seek(0)
    return list(t.load(file).values())


def empty(t: Any) -> Any:
    return t.nested.nested_tensor([])


MAKERS: dict[str, Callable[[Any], Any]] = {"rows": rows, "odd": odd, "cubes": cubes, "empty": empty}

# -- making ---------------------------------------------------------------------------------------------------------------

cases(
    made=lambda t: [t.nested.nested_tensor([t.tensor([1, 2]), t.tensor([3])]), t.nested.nested_tensor([[1., 2.], [3.]]),
                    t.nested.nested_tensor([t.tensor(1), t.tensor(2)])],
    made_of_tuple=lambda t: t.nested.nested_tensor((numbers(t, 2), numbers(t, 1))),
    made_of_kinds=lambda t: t.nested.nested_tensor([t.tensor([1, 2]), t.tensor([3.5])]),
    made_with_dtype=lambda t: t.nested.nested_tensor([t.tensor([1, 2]), t.tensor([3])], dtype=t.float16),
    made_of_number=lambda t: t.nested.nested_tensor(3.0),
    made_of_numbers=lambda t: t.nested.nested_tensor([3.0]),
    made_of_tensor=lambda t: t.nested.nested_tensor(t.tensor([3.0])),
    made_of_matrix=lambda t: t.nested.as_nested_tensor(t.ones(2, 3)),
    made_of_dims=lambda t: t.nested.nested_tensor([t.tensor(1.0), t.tensor([1.0])]),
    made_of_more_dims=lambda t: t.nested.as_nested_tensor([t.tensor(1.0), t.tensor(1.0), t.ones(1, 1)]),
    made_of_nothing=lambda t: t.nested.nested_tensor(),
    as_number=lambda t: t.nested.as_nested_tensor(3.0),
    as_numbers=lambda t: t.nested.as_nested_tensor([3.0]),
    as_kinds=lambda t: t.nested.as_nested_tensor([t.tensor([1, 2]), t.tensor([3.5])]),
    as_itself=lambda t: t.nested.as_nested_tensor(rows(t)),
    made_leaf=lambda t: [rows(t, True).is_leaf, rows(t, True).requires_grad, rows(t).requires_grad],
    made_as_history=lambda t: (lambda nt: [nt.is_leaf, nt.requires_grad, nt.grad_fn.name()])(
        t.nested.as_nested_tensor([numbers(t, 2).requires_grad_(), numbers(t, 1)])),
    made_ints_grad=lambda t: t.nested.nested_tensor([t.tensor([1])], requires_grad=True),
    made_layout=lambda t: t.nested.nested_tensor([numbers(t, 2)], layout=t.sparse_coo),
    made_meta=lambda t: str(t.nested.nested_tensor([t.ones(2, device="meta"), t.ones(1, device="meta")]).device),
    copies=lambda t: (lambda a: [t.nested.nested_tensor([a]).unbind()[0].add_(1), a])(t.ones(2)),
    from_mask=lambda t: t._nested_tensor_from_mask(numbers(t, 2, 3, 2), t.tensor([[True, True, False], [True, False, False]])),
    from_mask_unaligned=lambda t: t._nested_tensor_from_mask(numbers(t, 2, 3, 2), t.tensor([[True, False, True], [True, False, False]])),
    from_mask_dims=lambda t: t._nested_tensor_from_mask(numbers(t, 2, 3), t.ones(2, 3, dtype=t.bool)),
    from_mask_sizes=lambda t: t._nested_tensor_from_mask(numbers(t, 2, 3, 2), t.ones(2, 2, dtype=t.bool)),
    from_mask_kind=lambda t: t._nested_tensor_from_mask(numbers(t, 2, 3, 2), t.ones(2, 3)),
    mask_aligned=lambda t: [t._nested_tensor_from_mask_left_aligned(numbers(t, 2, 3, 2), t.tensor(m)) for m in (
        [[True, True, False], [True, False, False]], [[True, False, True], [True, False, False]])],
    from_padded=lambda t: t._nested_from_padded(numbers(t, 2, 3, 2), t.tensor([[2, 2], [3, 1]])),
    from_padded_fused=lambda t: t._nested_from_padded(numbers(t, 2, 2, 3, 4), t.tensor([[2, 8], [3, 8]]), fuse_transform_0213=True),
    from_padded_example=lambda t: t._nested_from_padded_and_nested_example(numbers(t, 2, 3, 4), rows(t)),
    view_from_buffer=lambda t: t._nested_view_from_buffer(numbers(t, 6), t.tensor([[2], [3]]), t.tensor([[1], [1]]), t.tensor([0, 2])),
)

# -- what they tell ---------------------------------------------------------------------------------------------------------

cases(
    **{f"told_{name}": lambda t, make=make: (lambda nt: [
        nt.dim(), nt.ndim, nt.numel(), nt.is_nested, nt.layout is t.strided, str(nt.dtype), str(nt.device), nt.is_contiguous(),
        nt.element_size(), nt.is_floating_point(), nt.is_sparse, nt.size(0), type(nt).__name__, nt.is_leaf])(make(t))
       for name, make in MAKERS.items()},
    sizes=lambda t: [rows(t).size(d) for d in (0, -3, 2, -1)],
    size_irregular=lambda t: rows(t).size(1),
    size_irregular_last=lambda t: odd(t).size(-1),
    size_beyond=lambda t: rows(t).size(3),
    size_all=lambda t: rows(t).size(),
    size_shape=lambda t: rows(t).shape,
    size_strides=lambda t: rows(t).stride(),
    size_stride=lambda t: rows(t).stride(0),
    size_parts=lambda t: [[nt._nested_tensor_size(), nt._nested_tensor_strides(), nt._nested_tensor_storage_offsets()] for nt in (
        rows(t), odd(t), cubes(t).transpose(1, 2))],
    not_nested=lambda t: t.ones(2).is_nested,
    texts=lambda t: [str(nt) for nt in (rows(t), empty(t), t.nested.nested_tensor([t.tensor(1.0)]), rows(t, True), rows(t, True) * 2,
                                        t.nested.nested_tensor([t.tensor([[1, 2]]), t.tensor([[4, 5]])]), cubes(t).transpose(1, 2))],
    as_array=lambda t: rows(t).numpy(),
    as_list=lambda t: rows(t).tolist(),
    as_number_of=lambda t: t.nested.nested_tensor([t.tensor(1.0)]).item(),
    length=lambda t: len(rows(t)),
    storage=lambda t: rows(t).untyped_storage().nbytes(),
    version=lambda t: (lambda nt: [nt._version, nt.add_(nt)._version])(rows(t)),
    same_size=lambda t: [t.is_same_size(rows(t), rows(t)), t.is_same_size(rows(t), odd(t))],
    pickled=lambda t: [pickle.loads(pickle.dumps(nt)) for nt in (rows(t), cubes(t).transpose(1, 2), empty(t))],
    saved=lambda t: _loaded(t, {"a": rows(t), "b": odd(t).transpose(1, 2)}),
    copied=lambda t: copy.deepcopy(rows(t)),
    iterated=lambda t: list(rows(t)),
    truth=lambda t: bool(rows(t)),
)

# -- parts --------------------------------------------------------------------------------------------------------------------

cases(
    unbound=lambda t: [nt.unbind() for nt in (rows(t), odd(t), empty(t), cubes(t).transpose(1, 2))],
    unbound_1=lambda t: rows(t).unbind(1),
    unbound_far=lambda t: rows(t).unbind(-3),
    unbound_views=lambda t: (lambda nt: [nt.unbind()[0].fill_(7), nt])(rows(t)),
    values=lambda t: [rows(t).values(), odd(t).values()],
    item_0=lambda t: [rows(t)[0], rows(t)[-1]],
    item_2=lambda t: rows(t)[2],
    item_low=lambda t: rows(t)[-3],
    item_of_none=lambda t: empty(t)[0],
    item_pair=lambda t: [rows(t)[0, 1], rows(t)[1, ..., 2], rows(t)[1, :, 1:3]],
    item_pair_beyond=lambda t: rows(t)[1, 4, 2],
    item_all=lambda t: rows(t)[:],
    item_none=lambda t: rows(t)[None],
    item_dots=lambda t: rows(t)[...],
    item_slice=lambda t: rows(t)[:, 1],
    item_view=lambda t: (lambda nt: [nt[0].fill_(1), nt[1, 1, :].fill_(2), nt])(rows(t)),
    selected=lambda t: [rows(t).select(0, 1), rows(t).select(1, 1)],
    padded=lambda t: [rows(t).to_padded_tensor(0), t.nested.to_padded_tensor(odd(t), -1.5), cubes(t).to_padded_tensor(2),
                      empty(t).to_padded_tensor(4)],
    padded_more=lambda t: rows(t).to_padded_tensor(0, output_size=(2, 4, 5)),
    padded_less=lambda t: rows(t).to_padded_tensor(0, (2, 2, 4)),
    padded_dims=lambda t: rows(t).to_padded_tensor(0, (2, 4)),
    padded_turned=lambda t: rows(t).transpose(1, 2).to_padded_tensor(0),
    padded_plain=lambda t: t.ones(2).to_padded_tensor(0),
    chunked=lambda t: rows(t).chunk(2, -1),
    chunked_first=lambda t: rows(t).chunk(2, 0),
    chunked_odd=lambda t: rows(t).chunk(3, -1),
    split=lambda t: rows(t).split([1, 3], -1),
    split_first=lambda t: rows(t).split([1, 1], 0),
    joined=lambda t: t.cat([rows(t), odd(t)], 0),
    joined_mixed=lambda t: t.cat([rows(t), t.ones(2, 3, 4)], 0),
    narrowed=lambda t: rows(t).narrow(0, 1, 1),
    narrowed_1=lambda t: rows(t).narrow(1, 0, 1),
)

# -- elementwise --------------------------------------------------------------------------------------------------------------

UNARY = ["abs", "cos", "neg", "relu", "sgn", "sin", "sqrt", "tanh", "logical_not", "isinf", "isnan", "isneginf", "isposinf", "exp",
    "sigmoid"]
cases(
    **{f"unary_{name}": lambda t, name=name: getattr(t, name)(rows(t)) for name in UNARY},
    **{f"unary_{name}_in_place": lambda t, name=name: getattr(rows(t), name + "_")() for name in (
        "abs", "neg", "relu", "sgn", "tanh", "logical_not", "sin")},
    gelu=lambda t: [t.nn.functional.gelu(rows(t)), t.nn.functional.gelu(rows(t), approximate="tanh")],
    silu=lambda t: [t.nn.functional.silu(rows(t)), t.nn.functional.silu(rows(t), inplace=True)],
    relu_again=lambda t: [t.nn.functional.relu(rows(t)), t.nn.functional.relu_(rows(t)), t.nn.ReLU(inplace=True)(rows(t))],
    **{f"binary_{name}": lambda t, name=name: getattr(t, name)(rows(t), rows(t)) for name in ("add", "sub", "mul", "div", "eq", "pow",
        "atan2")},
    **{f"number_{name}": lambda t, name=name: getattr(t, name)(rows(t), 2.0) for name in (
        "add", "sub", "mul", "div", "eq", "ge", "gt", "lt", "pow")},
    **{f"scalar_{name}": lambda t, name=name: getattr(t, name)(rows(t), t.tensor(2.0, dtype=t.float64)) for name in (
        "add", "sub", "mul", "div", "eq")},
    **{f"dense_{name}": lambda t, name=name: getattr(t, name)(rows(t), t.ones(4, dtype=t.float64)) for name in ("add", "mul", "div")},
    **{f"broadcast_{name}": lambda t, name=name: getattr(t, name)(rows(t), numbers(t, 2, 1, 4)) for name in ("add", "mul", "div")},
    **{f"sizes_{name}": lambda t, name=name: getattr(t, name)(rows(t), odd(t)) for name in ("add", "mul")},
    **{f"counts_{name}": lambda t, name=name: getattr(t, name)(rows(t), t.nested.nested_tensor([numbers(t, 2, 4)])) for name in ("add",
        "mul")},
    dims_add=lambda t: rows(t) + cubes(t),
    mixed_first=lambda t: t.ones(4, dtype=t.float64) * rows(t),
    scalar_first=lambda t: [t.tensor(2.0, dtype=t.float64) * rows(t), 2 * rows(t), 2 + rows(t), -rows(t)],
    number_first_sub=lambda t: 2 - rows(t),
    number_first_div=lambda t: 2 / rows(t),
    alpha=lambda t: t.add(rows(t), rows(t), alpha=2),
    promoted=lambda t: rows(t) * t.nested.nested_tensor([t.ones(2, 4), t.ones(3, 4)]),
    in_place=lambda t: [rows(t).add_(rows(t)), rows(t).mul_(rows(t)), rows(t).mul_(2), rows(t).mul_(t.tensor(2.0)), rows(t).zero_(),
                        rows(t).fill_(3), rows(t).fill_(t.tensor(4.0)), rows(t).copy_(rows(t) * 2)],
    in_place_scalar=lambda t: t.tensor(2.0, dtype=t.float64).mul_(rows(t)),
    in_place_dense=lambda t: rows(t).mul_(t.ones(4, dtype=t.float64)),
    in_place_sizes=lambda t: rows(t).add_(odd(t)),
    copied_sizes=lambda t: rows(t).copy_(odd(t)),
    copied_dense=lambda t: rows(t).copy_(t.ones(2, 3, 4)),
    dense_copied=lambda t: t.ones(2, 3, 4).copy_(rows(t)),
    cloned=lambda t: [rows(t).clone(), cubes(t).transpose(1, 2).clone(), cubes(t).transpose(1, 2).contiguous().is_contiguous(),
                      rows(t).clone(memory_format=t.preserve_format), cubes(t).transpose(1, 2).clone().is_contiguous()],
    cloned_last=lambda t: rows(t).clone(memory_format=t.channels_last),
    like=lambda t: [t.ones_like(rows(t)), t.zeros_like(rows(t)), t.empty_like(rows(t)).is_nested, t.empty_like(rows(t), dtype=t.int32).dtype
                    is t.int32],
    like_full=lambda t: t.full_like(rows(t), 3),
    like_random=lambda t: t.randn_like(rows(t)).is_nested,
    converted=lambda t: [rows(t).to(t.float32), rows(t).half(), rows(t).to("cpu"), rows(t).to(rows(t)), rows(t).int()],
    filled=lambda t: t.nested.nested_tensor([numbers(t, 2, 4), numbers(t, 3, 4)]).masked_fill(rows(t) > 0, 7),
    where=lambda t: t.where(rows(t) > 0, rows(t), rows(t) * 2),
    every=lambda t: [t.all(rows(t) > -2), t.all(rows(t) > 0)],
    any=lambda t: t.any(rows(t) > 0),
    equal=lambda t: t.equal(rows(t), rows(t)),
    close=lambda t: t.allclose(rows(t), rows(t)),
)

# -- shapes, products, layers -------------------------------------------------------------------------------------------------

cases(
    turned=lambda t: [rows(t).transpose(1, 2), rows(t).transpose(-1, -2).is_contiguous(), cubes(t).transpose(1, 3)],
    turned_first=lambda t: rows(t).transpose(0, 1),
    turned_beyond=lambda t: rows(t).transpose(1, 3),
    viewed=lambda t: [rows(t).view(2, -1, 2, 2), rows(t).reshape(2, -1, 1, 4), rows(t).transpose(1, 2).reshape(2, 4, -1)],
    viewed_turned=lambda t: rows(t).transpose(1, 2).view(2, -1, 2, 2),
    **{f"viewed_{i}": lambda t, shape=shape: rows(t).view(*shape) for i, shape in enumerate(
        [(-1, 2, 3), (3, -1, 4), (2, 3, 4), (2, -1, -1), (2, -1, -1, 2), (8, -1)])},
    viewed_nothing=lambda t: rows(t).view(()),
    viewed_empty=lambda t: empty(t).view(-1),
    reshaped_batch=lambda t: rows(t).reshape(-1, 2, 3),
    reshaped_nothing=lambda t: rows(t).reshape(()),
    squeezed=lambda t: [rows(t).unsqueeze(1), rows(t).unsqueeze(-1), rows(t).unsqueeze(1).squeeze(1)],
    squeezed_first=lambda t: rows(t).unsqueeze(0),
    squeezed_all=lambda t: rows(t).squeeze(),
    squeezed_wide=lambda t: rows(t).squeeze(2),
    flattened=lambda t: cubes(t).flatten(2, 3),
    permuted=lambda t: rows(t).permute(0, 2, 1),
    turned_t=lambda t: rows(t).mT,
    summed=lambda t: [rows(t).sum(-1, keepdim=True), rows(t).sum(2, keepdim=True), odd(t).sum([-1], keepdim=True)],
    summed_first=lambda t: rows(t).sum(0, keepdim=True),
    summed_pair=lambda t: rows(t).sum([0, 1], keepdim=True),
    summed_drop=lambda t: rows(t).sum(-1),
    summed_all=lambda t: rows(t).sum(),
    meant=lambda t: rows(t).mean(),
    meant_dim=lambda t: rows(t).mean(-1, keepdim=True),
    largest=lambda t: rows(t).max(),
    products=lambda t: [rows(t) @ rows(t).transpose(1, 2), t.bmm(rows(t), rows(t).transpose(1, 2)), t.matmul(cubes(t), cubes(t).mT
                        if False else cubes(t).transpose(2, 3))],
    product_dense=lambda t: rows(t) @ numbers(t, 4, 3),
    product_of_dense=lambda t: numbers(t, 2, 3) @ rows(t),
    product_sizes=lambda t: rows(t) @ rows(t),
    product_bmm_dense=lambda t: t.bmm(rows(t), numbers(t, 2, 4, 3)),
    product_bmm_dims=lambda t: t.bmm(cubes(t), cubes(t)),
    linear=lambda t: [t.nn.functional.linear(rows(t), numbers(t, 3, 4), numbers(t, 3)), t.nn.functional.linear(rows(t), numbers(t, 3, 4))],
    linear_odd=lambda t: t.nn.functional.linear(odd(t), numbers(t, 3, 4)),
    linear_dims=lambda t: t.nn.functional.linear(cubes(t), numbers(t, 3, 4)),
    linear_sizes=lambda t: t.nn.functional.linear(rows(t), numbers(t, 3, 5)),
    softmax=lambda t: [t.softmax(rows(t), -1), t.nn.functional.softmax(odd(t), 1), cubes(t).softmax(2)],
    softmax_first=lambda t: t.softmax(rows(t), 0),
    softmax_beyond=lambda t: t.softmax(rows(t), 3),
    log_softmax=lambda t: t.log_softmax(rows(t), -1),
    dropout=lambda t: [t.nn.functional.dropout(rows(t), 0.0), t.nn.functional.dropout(rows(t), 1.0), t.nn.functional.dropout(rows(t), 0.5,
        False)],
    dropout_some=lambda t: (t.manual_seed(0), t.nn.functional.dropout(rows(t), 0.5))[1],
    layer_norm=lambda t: t.nn.functional.layer_norm(rows(t), (4,), numbers(t, 4), numbers(t, 4)),
    layer_norm_plain=lambda t: t.nn.functional.layer_norm(rows(t), (4,)),
    layer_norm_odd=lambda t: t.nn.functional.layer_norm(odd(t), (4,)),
    embedding=lambda t: t.nn.functional.embedding(t.nested.nested_tensor([t.tensor([0, 2]), t.tensor([1])]), numbers(t, 3, 2)),
    embedding_floats=lambda t: t.nn.functional.embedding(rows(t), numbers(t, 3, 2)),
    attention=lambda t: t.nn.functional.scaled_dot_product_attention(cubes(t), cubes(t), cubes(t)),
    **{f"refused_{name}": lambda t, name=name: getattr(t, name)(rows(t)) for name in ("sort", "argmax", "std", "exp2", "var", "norm",
        "nonzero")},
)

# -- gradients ----------------------------------------------------------------------------------------------------------------


def _graded(t: Any, function: Callable[..., Any], *dense: Any) -> Any:
    """A result of nested rows and others, the name of its node, and the gradients of all of them."""
    parts = [numbers(t, 2, 4).requires_grad_(), numbers(t, 3, 4).requires_grad_()]
    others = [d.requires_grad_() for d in dense]
    made = t.nested.as_nested_tensor(parts)
    out = function(made, *others)
    total = out.to_padded_tensor(0) if out.is_nested else out
    (total * total).sum().backward()
    leaf = rows(t, True)
    found = function(leaf, *[d.detach() for d in others])
    (found.to_padded_tensor(0) if found.is_nested else found).sum().backward()
    return [out.detach(), out.grad_fn.name(), *[x.grad for x in (*parts, *others, leaf)]]


GRADED: dict[str, Callable[[Any], Any]] = {
    "mul": lambda t: _graded(t, lambda x: x * x), "add": lambda t: _graded(t, lambda x: x + x * 2),
    "sub": lambda t: _graded(t, lambda x: x - x * 2), "div": lambda t: _graded(t, lambda x: x / 2),
    "neg": lambda t: _graded(t, lambda x: -x), "relu": lambda t: _graded(t, lambda x: x.relu()), "tanh": lambda t: _graded(t,
        lambda x: x.tanh()),
    "gelu": lambda t: _graded(t, t.nn.functional.gelu), "silu": lambda t: _graded(t, t.nn.functional.silu),
    "sin": lambda t: _graded(t, lambda x: x.sin()), "abs": lambda t: _graded(t, lambda x: x.abs()),
    "sqrt": lambda t: _graded(t, lambda x: (x * x).sqrt()),
    "linear": lambda t: _graded(t, t.nn.functional.linear, numbers(t, 3, 4), numbers(t, 3)),
    "layer_norm": lambda t: _graded(t, lambda x, w, b: t.nn.functional.layer_norm(x, (4,), w, b), numbers(t, 4), numbers(t, 4)),
    "softmax": lambda t: _graded(t, lambda x: x.softmax(-1)), "matmul": lambda t: _graded(t, lambda x: x @ x.transpose(1, 2)),
    "bmm": lambda t: _graded(t, lambda x: t.bmm(x, x.transpose(1, 2))), "transpose": lambda t: _graded(t, lambda x: x.transpose(1,
        2).contiguous()),
    "view": lambda t: _graded(t, lambda x: x.view(2, -1, 2, 2)), "reshape": lambda t: _graded(t, lambda x: x.reshape(2, -1, 2, 2)),
    "sum": lambda t: _graded(t, lambda x: x.sum(-1, keepdim=True)), "clone": lambda t: _graded(t, lambda x: x.clone()),
    "unbind": lambda t: _graded(t, lambda x: x.unbind()[1]), "select": lambda t: _graded(t, lambda x: x[0]),
    "values": lambda t: _graded(t, lambda x: x.values()), "squeeze": lambda t: _graded(t, lambda x: x.unsqueeze(1)),
    "chunk": lambda t: _graded(t, lambda x: x.chunk(2, -1)[0].contiguous()), "masked_fill": lambda t: _graded(t,
        lambda x: x.masked_fill(x > 0, 0.0)),
    "dropout": lambda t: (t.manual_seed(3), _graded(t, lambda x: t.nn.functional.dropout(x, 0.0)))[1],
    "to": lambda t: _graded(t, lambda x: x.to(t.float32)), "broadcast": lambda t: _graded(t, lambda x, y: x * y, numbers(t, 2, 1, 4)),
    "padded": lambda t: _graded(t, lambda x: x.to_padded_tensor(3.0)),
}
cases(
    **{f"graded_{name}": function for name, function in GRADED.items()},
    backward_nested=lambda t: (lambda x: [(x * 2).backward(rows(t)), x.grad])(rows(t, True)),
    backward_shape=lambda t: (rows(t, True) * 2).backward(odd(t)),
    backward_none=lambda t: (rows(t, True) * 2).backward(),
    backward_twice=lambda t: (lambda x: [(x * 2).backward(rows(t)), (x * 2).backward(rows(t)), x.grad])(rows(t, True)),
    detached=lambda t: (lambda x: [x.detach().requires_grad, (x * 2).detach().grad_fn is None,
        x.requires_grad_(False).requires_grad])(rows(t, True)),
    second=lambda t: _second(t, numbers(t, 2, 3).requires_grad_()),
    optimized=lambda t: _trained(t),
)


def _second(t: Any, a: Any) -> Any:
    """The gradient of a gradient."""
    squares = t.nested.as_nested_tensor([a]) * t.nested.as_nested_tensor([a])
    first = t.autograd.grad(squares.to_padded_tensor(0).sum(), a, create_graph=True)[0]
    return t.autograd.grad(first.sum(), a)


def _trained(t: Any) -> Any:
    """A step of training on sentences of several lengths."""
    t.manual_seed(0)
    net = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Dropout(0.0), t.nn.Linear(8, 2)).double()
    optimizer = t.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = t.nested.to_padded_tensor(net(rows(t)), 0.0).pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def plain(t: Any, value: Any) -> Any:
    """A result as JSON: tensors with their shape and dtype, nested ones by their parts."""
    if isinstance(value, t.Tensor):
        if value.is_nested:
            return {"nested": [plain(t, part) for part in value.detach().unbind()], "dtype": str(value.dtype)}
        data = value.detach().double().reshape(-1).tolist()
        return {"shape": list(value.shape), "dtype": str(value.dtype), "data": [float(f"{v:.7g}") for v in data]}
    return [plain(t, v) for v in value] if isinstance(value, (tuple, list)) else value


def call(t: Any, case: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = attempted(lambda: plain(t, CASES[case](t)))
    if isinstance(found, dict) and "error" in found:
        found["text"] = found["text"].split(" This could be because ")[0].split(" Please file an issue to PyTorch")[0]
    return found


TABLE = Table("nested", list(CASES), call, tolerance=(2e-5, 2e-5), doubles=(1e-6, 1e-6), zipped=True)
