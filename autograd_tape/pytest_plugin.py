"""The pytest fixture `check_grad`: gradient checks in tests.

    def test_swish(check_grad):
        check_grad(swish, [np.array([0.5, -1.0])], order=2, layouts=True)
"""

from __future__ import annotations

from typing import Any

import pytest

from .annotations import Fn


@pytest.fixture
def check_grad() -> Fn:
    """`autograd_tape.assert_gradients`: fails with the table where a gradient is wrong; `raise_exception=False` gives the report."""
    from . import assert_gradients, check_grad as check  # not at import time: pytest loads this plugin in every run

    def checked(fn: Fn, inputs: Any, *, raise_exception: bool = True, **options: Any) -> object:
        __tracebackhide__ = True
        return (assert_gradients if raise_exception else check)(fn, inputs, **options)

    return checked
