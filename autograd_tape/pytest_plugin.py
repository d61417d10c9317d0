"""The pytest fixture `check_grad`: numerical gradient checks in tests.

    def test_swish(check_grad):
        check_grad(swish, [np.array([0.5, -1.0])], order=2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest


@pytest.fixture
def check_grad() -> Callable[..., Any]:
    """`autograd_tape.check_grad`, raising GradCheckFailedError with the table where a gradient is wrong."""
    from . import check_grad as check  # not at import time: pytest loads this plugin in every run

    def checked(fn: Callable[..., Any], inputs: Sequence[Any], **options: Any) -> Any:
        return check(fn, inputs, **{"raise_exception": True, **options})

    return checked
