"""Autocast: dtypes of results and of gradients of every operation against torch, and what its settings do."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from autocast_cases import TABLE

import torchcompat as torch
from autograd_tape import tape
from torchcompat import amp
from torchcompat._autocast import FLOAT32, LOWER, POLICIES, WIDEST

GROUPS = 30


@pytest.fixture(autouse=True)
def quiet_again() -> Any:
    before = tape._loud
    yield
    assert tape._loud == before and not amp.ACTIVE


@pytest.mark.parametrize("group", range(GROUPS))
def test_dtypes_as_in_torch(group: int) -> None:
    wrong = TABLE.wrong(torch, group, GROUPS)
    assert not wrong, "\n".join(wrong)


def test_few_calls_differ() -> None:
    assert len(TABLE.differ) < 50 and len(TABLE.recorded) > 1400


def test_every_listed_operation_exists_and_is_compared() -> None:
    from autograd_tape.ops import RECORDS

    assert set(POLICIES) <= set(RECORDS)
    called = " ".join(TABLE.recorded)
    for name in (*LOWER, *FLOAT32, *WIDEST):
        if name not in ("polar", "view_as_complex", "linalg.cholesky", "linalg.eig", "linalg.eigvals", "cholesky", "lu_solve",
                        "nn.functional.adaptive_max_pool3d_with_indices"):  # float32 only, refused for half precision
            assert f".{name.rpartition('.')[2]}, " in called, name


def dtype_of_product() -> Any:
    return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype


def test_nested_and_switched_off() -> None:
    with torch.autocast("cpu"):
        assert dtype_of_product() is torch.bfloat16 and torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", dtype=torch.float16):
            assert dtype_of_product() is torch.float16 and torch.get_autocast_dtype("cpu") is torch.float16
            with torch.autocast("cpu", enabled=False):
                assert dtype_of_product() is torch.float32 and not torch.is_autocast_enabled("cpu")
            assert dtype_of_product() is torch.float16
        assert dtype_of_product() is torch.bfloat16
    assert dtype_of_product() is torch.float32

    @torch.autocast("cpu", cache_enabled=False)
    def function() -> Any:
        return dtype_of_product(), torch.nn.functional.mse_loss(torch.ones(2, dtype=torch.bfloat16), torch.ones(2)).dtype

    assert function() == (torch.bfloat16, torch.float32) and function.__name__ == "function"


def test_what_is_not_there_is_said() -> None:
    for device, dtype, text in (("cuda", None, "CUDA is not available. Disabling"),
                                ("cpu", torch.float32, "target dtype is not supported")):
        with pytest.warns(UserWarning, match=text), torch.autocast(device, dtype=dtype):
            assert dtype_of_product() is torch.float32 and not torch.is_autocast_enabled(device)
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        torch.autocast("nonsense")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(3)
    assert torch.is_autocast_cache_enabled()


def test_modules_train_under_autocast() -> None:
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 3))
    with torch.autocast("cpu"):
        out = net(torch.ones(2, 1, 4, 4))
        loss = torch.nn.functional.cross_entropy(out, torch.tensor([0, 1]))
    assert out.dtype is torch.bfloat16 and loss.dtype is torch.float32
    loss.backward()
    assert {p.grad.dtype for p in net.parameters()} == {torch.float32}


@pytest.mark.parametrize("cast_inputs", [None, torch.float32])
def test_custom_functions(cast_inputs: Any) -> None:
    seen: list[Any] = []

    class Product(torch.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            seen.append(((a @ b).dtype, a.dtype, torch.is_autocast_enabled("cpu")))
            return a @ b

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            seen.append(((g @ b.t()).dtype, torch.is_autocast_enabled("cpu")))
            return g @ b.t(), a.t() @ g

    a = torch.ones(2, 2, dtype=torch.bfloat16 if cast_inputs else torch.float32, requires_grad=True)
    with torch.autocast("cpu"), warnings.catch_warnings():
        warnings.simplefilter("error")
        result = Product.apply(a, torch.ones(2, 2))
    result.float().sum().backward()
    if cast_inputs is None:
        assert seen == [(torch.bfloat16, torch.float32, True), (torch.bfloat16, True)]
    else:
        assert seen == [(torch.float32, torch.float32, False), (torch.float32, False)]
