"""What tensors of any dtype raise is an error that torch has: nothing of NumPy's, and nothing that only the interpreter says."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.ops.op_cases import NAMES, bind, copied, is_array, samples, tensors, tree_map

import torchcompat as torch
from autograd_tape.ops import RECORDS
from torchcompat._tensor import frontend

ROOT = Path(torch.__file__).parents[1]
PUBLIC = [name for name in NAMES if RECORDS[name].namespace != "_internal"]
DTYPES = [np.dtype(d) for d in (np.bool_, np.int64, np.float16, ml_dtypes.bfloat16, np.complex64)]


def given(error: BaseException) -> bool:
    """Whether it is an error that torch raises for dtypes, or one that a `raise` of this library makes."""
    if type(error) in (RuntimeError, NotImplementedError, torch.linalg.LinAlgError):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = Path(last.filename).is_relative_to(ROOT) and (last.line or "").startswith("raise ") and "floating point" not in str(error)[:14]
    return ours and type(error) in (TypeError, ValueError, IndexError)


def cast(value: Any, dtype: np.dtype) -> Any:
    """Arguments with their floating-point arrays in another dtype, as tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tree_map(lambda x: frontend.wrap(np.asarray(x).astype(dtype) if np.asarray(x).dtype.kind == "f" else np.asarray(x))
                        if is_array(x) else x, copied(value))


@pytest.mark.no_numbers("which errors come out")
@pytest.mark.parametrize("name", PUBLIC)
def test_of_every_dtype(name: str) -> None:
    rec, wrong, ran = RECORDS[name], [], 0
    for sample in samples(rec):
        call = bind(rec, sample)
        for dtype in DTYPES:
            args, kwargs = cast(call, dtype)
            ran += 1
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = frontend.function(name)(*args, **kwargs)
                    assert all(t._data is None or isinstance(t._data, np.ndarray) for t in tensors(result))
            except Exception as error:
                if not given(error):
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    wrong.append(f"{dtype}: {type(error).__name__}: {str(error)[:90]} ({Path(last.filename).name}:{last.lineno})")
    assert not wrong, "\n".join(dict.fromkeys(wrong))
    assert ran


BOOLS, INTS = torch.ones(3, 3, dtype=torch.bool), torch.ones(3, 3, dtype=torch.int64)
REFUSED = {
    "torch.cholesky_inverse(BOOLS)": '"cholesky_inverse_out_cpu" not implemented for \'Bool\'',
    "torch.cholesky_inverse(INTS)": '"cholesky_inverse_out_cpu" not implemented for \'Long\'',
    "torch.cholesky_solve(BOOLS, BOOLS)": '"cholesky_solve_cpu" not implemented for \'Bool\'',
    "torch.cholesky_solve(INTS, INTS)": '"cholesky_solve_cpu" not implemented for \'Long\'',
    "torch.linalg.cross(BOOLS, BOOLS)": '"cross" not implemented for \'Bool\'',
    "F.ctc_loss(INTS[:, None], INTS[:1, :1], (3,), (1,))": '"ctc_loss_cpu" not implemented for \'Long\'',
    "F.gaussian_nll_loss(INTS, INTS, INTS)": "result type Float can't be cast to the desired output type long int",
    "BOOLS[0].index_reduce(0, INTS[0], BOOLS[0], 'mean')": '"index_func_" not implemented for \'Bool\'',
    "BOOLS[0].scatter_reduce(0, INTS[0], BOOLS[0], 'mean')": '"scatter_gather_tensor_cpu_reduce_mean" not implemented for \'Bool\'',
    "F.instance_norm(INTS[None])": '"batch_norm" not implemented for \'Long\'',
    "torch.linalg.lstsq(INTS.bfloat16(), INTS.bfloat16())": "This function doesn't handle types other than float and double",
    "F.max_pool2d(BOOLS[None], 2)": '"max_pool2d" not implemented for \'Bool\'',
    "F.max_pool3d(BOOLS[None, None], 1)": '"max_pool3d" not implemented for \'Bool\'',
}
"""What torch refuses, and says."""


@pytest.mark.parametrize("call", REFUSED)
def test_refused_as_torch_does(call: str) -> None:
    with pytest.raises(RuntimeError) as found:
        eval(call, {"torch": torch, "F": torch.nn.functional, "BOOLS": BOOLS, "INTS": INTS})
    assert str(found.value) == REFUSED[call]


@pytest.mark.parametrize("dtype, top", [(torch.bfloat16, 3.3895313892515355e38), (torch.float16, 65504.0)])
def test_nan_to_num_of_half_precision(dtype: torch.dtype, top: float) -> None:
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([inf, -inf, nan, 1.5], dtype=dtype)
    assert torch.nan_to_num(x).tolist() == [top, -top, 0, 1.5]
    assert torch.nan_to_num(x, 1.0, 2.0, 3.0).tolist() == [2, 3, 1, 1.5]
    assert torch.nan_to_num(x[0]).dtype is dtype
    assert torch.nan_to_num(x, posinf=inf).tolist() == [inf, -top, 0, 1.5]


def test_complex_weights_count_with_their_real_part() -> None:
    found = torch.bincount(torch.tensor([0, 1, 1]), torch.tensor([1 + 2j, 3j, 2]))
    assert (found.tolist(), found.dtype) == ([1, 2], torch.float64)
