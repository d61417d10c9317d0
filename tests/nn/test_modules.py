"""Every module against what real torch made of it: text, initial weights from the same seed, outputs, gradients, buffers."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchcompat as torch

from .module_cases import CASES, run

RECORDED = json.loads((Path(__file__).parent / "modules.json").read_text())


def same(found: Any, expected: Any, where: str) -> None:
    """Equal structure, and numbers equal to rounding."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            same(found[key], expected[key], f"{where}[{key}]")
    elif expected is None:
        assert found is None, where
    else:
        a, b = np.array(found, float), np.array(expected, float)
        assert a.shape == b.shape, where
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6, err_msg=where)


@pytest.mark.parametrize(("expression", "specs"), CASES, ids=[expression for expression, _ in CASES])
def test_module(expression: str, specs: tuple[str, ...]) -> None:
    expected = dict(RECORDED[expression])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(torch, expression, specs)
    assert found.pop("repr") == expected.pop("repr")
    assert list(found) == list(expected)
    for part in ("outputs", "input_grads"):
        assert len(found.get(part, ())) == len(expected.get(part, ()))
        for i, (a, b) in enumerate(zip(found.pop(part, ()), expected.pop(part, ()), strict=True)):
            same(a, b, f"{part}[{i}]")
    same(found, expected, expression)


def test_every_module_class_is_covered() -> None:
    """A module that no case constructs would go untested."""
    import re

    named = set(re.findall(r"nn\.(\w+)", " ".join(expression for expression, _ in CASES)))
    elsewhere = {
        # bases, deprecated names, and what other test files construct
        "Module", "Container", "RNNBase", "RNNCellBase", "NLLLoss2d", "SyncBatchNorm", "CTCLoss", "MaxUnpool1d", "MaxUnpool2d",
        "MaxUnpool3d",
        "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool3d", "AdaptiveMaxPool3d", "TransformerDecoder", "UpsamplingNearest2d",
        "ConstantPad2d", "ConstantPad3d", "ReflectionPad3d", "ReplicationPad1d", "CircularPad3d", "ZeroPad3d",
    }
    missing = {name for name in torch.nn.modules.__all__ if not name.startswith("Lazy")} - named - elsewhere
    assert not missing
