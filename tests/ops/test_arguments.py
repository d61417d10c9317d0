"""Arguments that no signature takes are refused as torch refuses them, to the letter."""

from __future__ import annotations

from typing import Any

import pytest
from tests.ops.argument_cases import TABLE

import torchcompat as torch
from torchcompat._calls import callsite, grammar


@pytest.mark.parametrize("group", range(4))
def test_as_torch(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 4))


def test_few_differ() -> None:
    refused = [case for case, found in TABLE.recorded.items() if isinstance(found, dict)]
    assert len(refused) > 0.8 * len(TABLE.recorded) > 3000
    assert len(TABLE.differ) < 0.15 * len(TABLE.recorded)


def test_functions_methods_and_keywords_are_told_apart() -> None:
    x = torch.ones(2, 3)
    for call, text in ((lambda: x.softmax("a"), "softmax(): argument 'dim' (position 1) must be int, not str"),
                       (lambda: torch.softmax(x, "a"), "softmax(): argument 'dim' (position 2) must be int, not str"),
                       (lambda: torch.Tensor.softmax(x, "a"), "softmax(): argument 'dim' (position 2) must be int, not str"),
                       (lambda: x.softmax(dim="a"), "softmax(): argument 'dim' must be int, not str"),
                       (lambda: x.absolute(out=1), "TensorBase.absolute() takes no keyword arguments"),
                       (lambda: torch.absolute("a"), "absolute(): argument 'input' (position 1) must be Tensor, not str"),
                       (lambda: torch.special.expit("a"), "special_expit(): argument 'input' (position 1) must be Tensor, not str")):
        with pytest.raises(TypeError) as told:
            call()
        assert str(told.value) == text


def test_what_calls_succeed_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(grammar, "refused", lambda *args: asked.append(args))
    x = torch.ones(2, 3)
    x.softmax(1).sum(dim=0).view(3, 1).permute(1, 0), torch.cat([x, x]), torch.max(x, 1), x.mul_(2), torch.zeros(2, 3)
    assert not asked
    with pytest.raises(RuntimeError):
        torch.cat([x, torch.ones(3, 2)])
    assert asked


def test_calls_that_spread_are_those_of_functions() -> None:
    def call(function: Any, *args: object) -> object:
        return function(*args)

    assert callsite.written(call.__code__, len(call.__code__.co_code) - 4) is None
    with pytest.raises(TypeError, match=r"position 2"):
        call(torch.softmax, torch.ones(2), "a")


def test_results_are_made_of_one_sequence() -> None:
    kind = torch.return_types.sort
    made = kind(x for x in (1, 2))
    assert made == (1, 2) and (made.values, made.indices, kind.n_fields, kind.__match_args__) == (1, 2, 2, ("values", "indices"))
    assert not hasattr(kind, "_fields") and repr(made) == "torch.return_types.sort(\nvalues=1,\nindices=2)"
    found = torch.sort(torch.tensor([2, 1]))
    assert type(type(found)(t + 1 for t in found)) is type(found) is kind
    for bad, text in (((1, 2), "constructor requires a sequence"), (((1,),), "takes a 2-sequence (1-sequence given)"),
                      ((), "structseq() missing required argument 'sequence' (pos 1)"),
                      (((1, 2), 3), "takes a dict as second arg, if any")):
        with pytest.raises(TypeError) as told:
            kind(*bad)
        assert str(told.value).endswith(text)
