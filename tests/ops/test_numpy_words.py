"""`axis=` and `keepdims=` are taken wherever torch's functions and methods have `dim=` and `keepdim=`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.functions.words import MISSING, WORDS, words_of
from autograd_tape.ops import RECORDS, Sample
from tests.ops.numpy_word_cases import TABLE

OWN = {own: word for word, own in WORDS.items()}
RECORDS_WITH_WORDS = [name for name, rec in RECORDS.items() if not WORDS.keys().isdisjoint(words_of(rec, [p.name for p in rec.params]))
                      and rec.field("samples")
                      and not rec.field("random") and not rec.field("unset")]


def tensors(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return torch.tensor(np.asarray(value))
    return type(value)([tensors(v) for v in value]) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("name", RECORDS_WITH_WORDS)
def test_both_words_mean_the_same(name: str) -> None:
    function = torch._frontend.function(name)
    parameters = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    compared = 0
    for sample in RECORDS[name].field("samples")(np.random.default_rng(3)):
        sample = sample if isinstance(sample, Sample) else Sample(tuple(sample))
        def given(args: Any = sample.args, kwargs: Any = sample.kwargs) -> dict[str, Any]:
            return dict(zip(parameters, tensors(args))) | tensors(kwargs)

        if len(sample.args) > len(parameters) or not OWN.keys() & given().keys() or "reduction" in name:
            continue
        torch.manual_seed(0)
        expected = numbers(function(**given()))
        first = parameters[0]
        torch.manual_seed(0)
        values = given()
        assert_same(function(values.pop(first), **{OWN.get(key, key): value for key, value in values.items()}), expected)
        compared += 1
        own = next(key for key in values if key in OWN)
        if values[own] != inspect.signature(function).parameters[own].default:
            with pytest.raises(TypeError, match="takes from 2 to 1|"
                               f"got an unexpected keyword argument '{OWN[own]}'|invalid combination.* {OWN[own]}="):
                function(**given(), **{OWN[own]: values[own]})
    if not compared:  # its samples leave the dimension out
        taken = next(iter(RECORDS[name].field("samples")(np.random.default_rng(3))))
        args = taken.args if isinstance(taken, Sample) else tuple(taken)
        words = {OWN[p]: inspect.signature(function).parameters[p].default for p in parameters if p in OWN}
        if any([v is MISSING for v in words.values()]):
            words = {word: 0 for word in words}
            args = args[:1]
        expected = numbers(function(*tensors(args), **{WORDS[word]: value for word, value in words.items()}))
        assert_same(function(*tensors(args), **words), expected)


def numbers(value: Any) -> list[np.ndarray]:
    """All tensors of a result as arrays."""
    if isinstance(value, (tuple, list)):
        return [array for v in value for array in numbers(v)]
    return [value.detach().resolve_conj().clone().numpy()]


def assert_same(found: Any, expected: list[np.ndarray]) -> None:
    arrays = numbers(found)
    assert len(arrays) == len(expected) > 0
    for a, e in zip(arrays, expected):
        np.testing.assert_array_equal(a, e)


def test_what_is_missing_is_told_in_torchs_words() -> None:
    x = torch.ones(2, 3)
    for call, text in ((lambda: torch.softmax(x), 'softmax() missing 1 required positional arguments: "dim"'),
                       (lambda: torch.index_select(x, 0), 'index_select() missing 1 required positional arguments: "index"'),
                       (lambda: torch.sum(x, dim=0, axis=1), "sum() got an unexpected keyword argument 'axis'"),
                       (lambda: torch.exp(x, axis=0), "exp() got an unexpected keyword argument 'axis'"),
                       (lambda: torch.nn.functional.normalize(x, axis=0), "normalize() got an unexpected keyword argument 'axis'")):
        with pytest.raises(TypeError) as told:
            call()
        assert str(told.value) == text


@pytest.mark.no_numbers("which arguments are taken")
@pytest.mark.parametrize("group", range(4))
def test_words_are_taken_where_torch_takes_them(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 4))


def test_words_of_all_kinds_are_recorded() -> None:
    taken = [call for call, found in TABLE.recorded.items() if found != "refused"]
    assert len(taken) > 1500 and len(TABLE.recorded) > len(taken) + 200 and len(TABLE.differ) < 40


def test_too_many_arguments_are_told_in_torchs_words() -> None:
    x = torch.ones(2, 3)
    for call, text in ((lambda: torch.exp(x, x), "exp() takes 1 positional argument but 2 were given"),
                       (lambda: torch.exp(x, None), "exp() takes 1 positional argument but 2 were given"),
                       (lambda: torch.cat([x], 0, 1), "cat() takes from 1 to 2 positional arguments but 3 were given"),
                       (lambda: torch.exp(y=x), "exp() got an unexpected keyword argument 'y'")):
        with pytest.raises(TypeError) as told:
            call()
        assert str(told.value) == text


def test_signatures_show_each_parameter_once() -> None:
    assert str(inspect.signature(torch.exp)) == "(input, *, out=None)"
    assert str(inspect.signature(torch.unbind)) == "(input, dim=0)"
    assert str(inspect.signature(torch.count_nonzero)) == "(input, dim=None)"


def test_writing_and_out_take_them_too() -> None:
    x, out = torch.arange(6.0).view(2, 3), torch.empty(0)
    assert torch.cumsum(x, axis=1, out=out) is out and out.tolist() == [[0, 1, 3], [3, 7, 12]]
    assert x.cumsum_(axis=1) is x and x.tolist() == out.tolist()
    x = torch.ones(2, requires_grad=True)
    x.softmax(axis=0)[0].backward()
    assert x.grad.tolist() == [0.25, -0.25]
