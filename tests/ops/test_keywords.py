"""Arguments are taken by the names that torch's signatures have for them."""

from __future__ import annotations

import pytest

import torchcompat as torch
from autograd_tape.functions.words import words_of
from autograd_tape.ops import RECORDS
from tests.ops.keyword_cases import TABLE
from tests.ops.public_calls import refused

x = torch.tensor([3., 1., 2.])


@pytest.mark.no_numbers("which arguments are taken")
@pytest.mark.parametrize("group", range(8))
def test_taken_by_name(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 8))


def test_nothing_refused_is_recorded() -> None:
    assert len(TABLE.recorded) > 2000 and not [call for call, found in TABLE.recorded.items() if refused(found)]


@pytest.mark.parametrize("name", [name for name, rec in RECORDS.items() if rec.field("words")])
def test_words_are_of_parameters_that_there_are(name: str) -> None:
    rec = RECORDS[name]
    own = [p.name for p in rec.params]
    assert set(rec.field("words").values()) <= set(own) and rec.field("words").items() <= words_of(rec, own).items()


@pytest.mark.no_numbers("which arguments are taken")
@pytest.mark.parametrize(("call", "text"), [
    (lambda: torch.linalg.eigvals(torch.eye(2), input=torch.eye(2)), "linalg_eigvals() got multiple values for argument 'input'"),
    (lambda: torch.linalg.eigvals(), 'linalg_eigvals() missing 1 required positional arguments: "input"'),
    (lambda: torch.sum(), "sum() received an invalid combination of arguments - got (), but expected one of:\n"
     " * (Tensor input, *, torch.dtype dtype = None)\n"
     " * (Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)\n"),
    (lambda: torch.sum(y=x), "sum() got an unexpected keyword argument 'y'"),
    (lambda: torch.hsplit(x, sections=2, indices=(1,)), "hsplit() got an unexpected keyword argument 'indices'"),
    (lambda: torch.result_type(x, x, x), "result_type() received an invalid combination of arguments - got (Tensor, Tensor, Tensor)"),
    (lambda: torch.result_type(x, tensor2=x), "result_type() received an invalid combination of arguments - got (Tensor, tensor2=Tensor)"),
])
def test_what_is_no_name_is_refused(call: object, text: str) -> None:
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == text


SAME = {
    "operands by NumPy's words": lambda: (torch.sum(x=x, axis=0), torch.sum(x, 0)),
    "linalg.norm(a=)": lambda: (torch.linalg.norm(a=x, keepdims=True), torch.linalg.norm(x, keepdim=True)),
    "map_": lambda: (x.clone().map_(other=x, callable=lambda a, b: a + b), x + x),
    "resize_": lambda: (x.clone().resize_(size=(3, 1)), x[:, None]),
    "resize_as_": lambda: (x.clone().resize_as_(the_template=x[None]), x[None]),
    "scalar_tensor": lambda: (torch.scalar_tensor(s=2), torch.tensor(2.)),
    "csr": lambda: (torch.sparse_csr_tensor(crow_indices=[0, 1], col_indices=[0], values=[1.]).to_dense(), torch.ones(1, 1)),
    "csc": lambda: (torch.sparse_csc_tensor(ccol_indices=[0, 1], row_indices=[0], values=[1.]).to_dense(), torch.ones(1, 1)),
    "smm": lambda: (torch.smm(input=x[:, None].to_sparse(), mat2=x[None]).to_dense(), x[:, None] * x),
    "pinv": lambda: (torch.linalg.pinv(torch.diag(x), rcond=0.5), torch.linalg.pinv(torch.diag(x), rtol=0.5)),
    "matrix_rank": lambda: (torch.linalg.matrix_rank(torch.diag(x), tol=1.5), torch.tensor(2)),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_by_name(name: str) -> None:
    found, expected = SAME[name]()
    assert torch.equal(found, expected)


@pytest.mark.no_numbers("which arguments are taken")
def test_other_functions_by_name() -> None:
    assert x.is_set_to(tensor=x) and torch.overrides.is_tensor_like(inp=x)
    assert torch.result_type(tensor=x, other=x) is torch.result_type(scalar=1, tensor=x) is torch.float32
    assert torch.result_type(scalar1=1, scalar2=2) is torch.result_type(1, other=2) is torch.int64
    state = torch.get_rng_state()
    first = torch.randint_like(x, 9, generator=None, pin_memory=False)
    torch.set_rng_state(new_state=state)
    assert torch.equal(torch.randint_like(x, 9), first) and torch.rand_like(x, pin_memory=False).shape == x.shape
    torch.set_default_device(device="meta")
    made = torch.ones(1)
    torch.set_default_device(device=None)
    assert made.is_meta
