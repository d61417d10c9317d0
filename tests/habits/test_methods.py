"""The methods of NumPy's arrays on tensors: the same results, or a reason; and the records' own arguments mean what they meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograd_tape as at
import torchcompat as torch
from autograd_tape import F, TensorRef

CALLS = (
    "all() all(axis=0) all(axis=1,keepdims=True) any(axis=0) argmax() argmax(axis=1) argmax(axis=1,keepdims=True) argmin(axis=0) "
    "argsort() argsort(axis=0) argsort(kind='stable') argpartition(0,axis=1) astype('float32') clip(2,5) clip(min=2) clip(max=4) conj() "
    "conjugate() compress([True,False],axis=0) copy() cumprod() cumprod(axis=0) cumsum() cumsum(axis=1) cumsum(0) "
    "cumsum(axis=0,dtype='float64') diagonal() diagonal(offset=1) diagonal(axis1=1,axis2=0) flatten() max() max(axis=0) "
    "max(axis=1,keepdims=True) max(axis=(0,1)) mean() mean(axis=0) mean(axis=1,keepdims=True) mean(1,keepdims=True) "
    "mean(axis=-1,dtype='float64') min(axis=1) min() prod() prod(axis=0) ptp() ptp(axis=0) ravel() repeat(2,axis=1) reshape(3,2) "
    "reshape((3,2)) reshape(-1) reshape(3,-1) round() round(1) round(decimals=1) squeeze() squeeze(axis=None) std(axis=0) "
    "std(axis=0,ddof=1) sum() sum(axis=0) sum(axis=(0,1)) sum(axis=-1,keepdims=True) sum(0) sum(0,keepdims=True) sum(axis=0,initial=2.) "
    "sum(where=True) swapaxes(0,1) take([0,1],axis=1) trace() trace(offset=1) trace(axis1=1,axis2=0) transpose() transpose(1,0) "
    "transpose((1,0)) transpose([1,0]) var(axis=0) var(axis=1,ddof=1,keepdims=True) tolist() "
).split()
REASONS = {
    **dict.fromkeys(["fill", "itemset", "partition", "put", "resize", "setfield", "setflags", "sort"],
                    "changes the array: the records' names for that end in an underscore"),
    **dict.fromkeys(["byteswap", "dump", "dumps", "getfield", "newbyteorder", "tobytes", "tofile", "tostring", "to_device"],
                    "is about bytes: numpy() has them"),
    "item": "takes no index", "view": "is the record's, of a shape", "nonzero": "is the record's, a row for each",
    "dot": "is the record's, of vectors", "choose": "takes integers", "searchsorted": "takes one dimension",
}
"""The methods that have no call above, and why."""
X = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.5]])


def values(found: Any) -> np.ndarray:
    return found.numpy() if isinstance(found, TensorRef) else np.asarray(found)


def test_every_method_has_a_call_or_a_reason() -> None:
    methods = {name for name in dir(np.ndarray) if not name.startswith("_") and callable(getattr(np.ndarray, name))}
    assert methods - {call.partition("(")[0] for call in CALLS} <= set(REASONS)


@pytest.mark.parametrize("call", CALLS)
def test_a_method_gives_what_that_of_arrays_gives(call: str) -> None:
    given = {"np": np}
    if call.startswith("ptp"):  # which arrays have lost, and tensors keep
        expected: Any = np.ptp(X, **eval(f"dict{call[3:]}"))
    else:
        expected = eval(f"x.{call}", given | {"x": X.copy()})
    leaf = TensorRef.of(X, requires_grad=True)
    found = eval(f"x.{call}", given | {"x": leaf})
    np.testing.assert_allclose(values(found), expected, rtol=1e-15)
    assert values(found).dtype == np.asarray(expected).dtype and values(found).shape == np.shape(expected)
    if isinstance(found, TensorRef) and found.dtype.is_floating_point:
        assert found.requires_grad, "its gradient is lost"


def test_the_methods_of_one_dimension_and_of_integers() -> None:
    assert int(TensorRef.of([1.0, 2.0, 3.0]).searchsorted(2.5).numpy()) == 2
    np.testing.assert_array_equal(TensorRef.of([1, 0]).choose([[1.0, 2.0], [3.0, 4.0]]).numpy(), [3.0, 2.0])


def test_arguments_of_records_mean_what_they_meant() -> None:
    x = TensorRef.of(X)
    assert x.max(dim=0)._fields == ("values", "indices") and x.max(0).indices.shape == (3,)
    assert x.std().item() == X.std(ddof=1) and x.std(axis=None).item() == X.std()
    assert x.transpose(0, 1).shape == (3, 2) and x.sum(dim=0, keepdim=True).shape == (1, 3)


def test_gradients_of_what_is_said_in_numpys_words() -> None:
    x = TensorRef.of(X, requires_grad=True)
    loss = (x.sum(axis=0) * x.mean(axis=1, keepdims=True)).reshape(3, 2).transpose(1, 0).sum()
    np.testing.assert_allclose(at.backward(loss)[x.id], X.mean(1).sum() + X.sum() / 3 + np.zeros_like(X))


@pytest.mark.no_numbers("refusals")
def test_what_nobody_knows_is_refused_by_name() -> None:
    for call in (lambda x: x.sum(dimm=0), lambda x: x.sort(axis=0), lambda x: F.sum(x, axis=0)):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            call(TensorRef.of(X))
    for name in ("conjugate", "ptp", "choose", "compress", "searchsorted", "argpartition"):
        assert not hasattr(torch.Tensor, name)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        torch.ones(2).sum(axes=0)
