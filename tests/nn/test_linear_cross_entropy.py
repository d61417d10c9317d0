"""The cross entropy of a linear map's outputs is the same for some rows at a time as at once."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest

import torchcompat as torch
from torchcompat.nn import LinearCrossEntropyOptions as Options
from torchcompat.nn.functional import cross_entropy, linear, linear_cross_entropy

TARGET = torch.tensor([1, 2, 3, -100, 6])


def tensors(dtype: Any = torch.float64) -> list[Any]:
    generator = torch.Generator().manual_seed(4)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() for shape in ((5, 3), (7, 3), (7,))]


def both(options: Options | None, reduction: str, weighted: bool, ignore_index: int | None, dtype: Any = torch.float64
         ) -> list[list[Any]]:
    """The loss and its gradients, with the function and by its parts."""
    found = []
    for function in (lambda x, w, b, **more: linear_cross_entropy(x, w, TARGET, linear_bias=b, options=options, **more),
                     lambda x, w, b, **more: cross_entropy(linear(x, w, b), TARGET, **more)):
        given = tensors(dtype)
        more = {"reduction": reduction, "weight": torch.arange(1.0, 8, dtype=dtype) if weighted else None}
        loss = function(*given, **more, **({} if ignore_index is None else {"ignore_index": ignore_index}))
        scaled = (loss * torch.arange(1.0, 6, dtype=dtype) if loss.dim() else loss * 3).sum()
        found.append([loss, *torch.autograd.grad(scaled, given)])
    return found


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("size", [None, 1, 2, 5, 9])
def test_rows_at_a_time_give_what_all_give(size: int | None, reduction: str) -> None:
    for weighted, keep in itertools.product((False, True), repeat=2):
        found, expected = both(Options(batch_chunk_size=size, allow_retain_graph=keep), reduction, weighted, None)
        for f, e in zip(found, expected):
            torch.testing.assert_close(f, e)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_half_precision_is_computed_in_float32(dtype: Any) -> None:
    found, _ = both(Options(batch_chunk_size=2), "mean", True, None, dtype)
    given = [t.detach().to(torch.float64).requires_grad_() for t in tensors(dtype)]
    weight = torch.arange(1.0, 8, dtype=torch.float64)
    loss = linear_cross_entropy(given[0], given[1], TARGET, linear_bias=given[2], weight=weight)
    for f, e in zip(found, [loss, *torch.autograd.grad(loss * 3, given)]):
        assert f.dtype == dtype
        torch.testing.assert_close(f, e.to(dtype))


def test_one_sample_and_none_that_count() -> None:
    x, w, b = tensors()
    torch.testing.assert_close(linear_cross_entropy(x[0], w, TARGET[0], options=Options()), linear_cross_entropy(x[0], w, TARGET[0]))
    assert linear_cross_entropy(x, w, torch.full((5,), -100), options=Options()).isnan()


@pytest.mark.parametrize("keep", [False, True])
def test_gradients_are_there_once_unless_kept_and_have_none_themselves(keep: bool) -> None:
    x, w, _ = tensors()
    loss = linear_cross_entropy(x, w, TARGET, options=Options(allow_retain_graph=keep))
    first, = torch.autograd.grad(loss, [x], retain_graph=True, create_graph=True)
    assert not first.requires_grad
    if keep:
        torch.testing.assert_close(torch.autograd.grad(loss, [x])[0], first)
    else:
        with pytest.raises(RuntimeError, match="chunked backward called twice; retain_graph=True / double backward are not supported"):
            torch.autograd.grad(loss, [x])


def test_what_cannot_go_in_rows_goes_at_once_with_a_warning() -> None:
    x, w, _ = tensors()
    with pytest.warns(UserWarning, match="``options`` ignored; chunked path needs reduction in"):
        found = linear_cross_entropy(x, w, TARGET, label_smoothing=0.1, options=Options())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(found, linear_cross_entropy(x, w, TARGET, label_smoothing=0.1))


@pytest.mark.parametrize("options, text", [
    ({"acc_policy": "x"}, "invalid acc_policy: 'x'"), ({"chunking_method": "aspect_ratio:0"}, "invalid chunking_method: 'aspect_ratio:0'"),
    ({"batch_chunk_size": 0}, "batch_chunk_size must be positive int or None, got 0"),
    ({"acc_dtype": torch.int64}, "acc_dtype must be one of .* got torch.int64. Pass acc_dtype=None to let the op pick automatically."),
])
def test_options_that_are_none(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Options(**options)
