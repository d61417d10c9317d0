"""NumPy, DLPack, storages, devices, and torchcompat as `torch`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import torchcompat as torch

ROOT = Path(__file__).parents[2]


def test_numpy_shares_memory_both_ways() -> None:
    array = np.zeros((2, 3), np.float32)
    t = torch.from_numpy(array)
    t[0, 1] = 5
    assert array[0, 1] == 5
    array[1, 2] = 7
    assert t[1, 2].item() == 7
    assert np.shares_memory(t.numpy(), array)
    assert np.shares_memory(np.asarray(t.t()), array)


def test_numpy_keeps_strides() -> None:
    array = np.arange(12.0).reshape(3, 4).T[::2]
    t = torch.from_numpy(array)
    assert t.shape == (2, 3) and t.stride() == (2, 4)
    assert t.tolist() == array.tolist()


@pytest.mark.parametrize("bad, text", [
    (np.arange(3)[::-1], "At least one stride in the given numpy array is negative"),
    (np.arange(3).astype(">i4"), "given numpy array has byte order different from the native byte order"),
])
def test_numpy_arrays_that_tensors_cannot_share(bad: np.ndarray, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        torch.from_numpy(bad)


def test_numpy_functions_take_tensors() -> None:
    t = torch.tensor([1.0, 4.0])
    assert np.sqrt(t.numpy()).tolist() == [1, 2]
    assert isinstance(np.float32(2) * t, torch.Tensor)


def test_dlpack_both_ways() -> None:
    t = torch.arange(6.0).reshape(2, 3)
    array = np.from_dlpack(t)
    assert np.shares_memory(array, t.numpy())
    own = np.zeros(3)
    back = torch.from_dlpack(own)
    back[0] = 9
    assert own[0] == 9
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        t.requires_grad_().__dlpack__()


def test_storages() -> None:
    t = torch.arange(6, dtype=torch.int32)
    storage = t.untyped_storage()
    assert storage.nbytes() == 24 and storage.data_ptr() == t.data_ptr()
    assert t[2:].untyped_storage() is storage
    again = torch.tensor([], dtype=torch.int32).set_(storage, 1, (2, 2), (2, 1))
    assert again.tolist() == [[1, 2], [3, 4]]
    again[0, 0] = 50
    assert t[1].item() == 50


def test_meta_tensors_have_shapes_only() -> None:
    a = torch.empty(1 << 15, 1 << 15, device="meta")
    b = (a @ a.t() + 1).softmax(1)
    assert b.shape == (1 << 15, 1 << 15) and b.device.type == "meta" and b.stride() == (1 << 15, 1)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        b.cpu()


def run(code: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, env={**os.environ, **environment},
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_torch_gives_torchcompat() -> None:
    assert run("import torchcompat.dropin as d; d.install(); import torch, torch.nn.functional as F, torchcompat, "
               "torchcompat.nn.functional as G\nimport importlib.util; from torch import nn; from torch.utils.data import DataLoader\n"
               "print(torch is torchcompat, F is G, importlib.util.find_spec('torch') is not None, torch.nn.Linear is "
               "torchcompat.nn.Linear)"
               ) == "True True True True"


def test_modules_are_called_as_torchs_as_long_as_they_stand_in_for_them() -> None:
    code = """
import torchcompat.dropin as dropin
dropin.install()
import sys, torch, torch.nn as nn, torch.nn.functional as F, torch.fft, torch.utils.data as data
print(torch.__name__, nn.__name__, F.__name__, data.__name__, sys.modules["torch.nn"] is nn, hasattr(nn, "nope"), hasattr(F, "nope"))
print(torch.serialization.__name__, data.datapipes.__name__, torch.func.vmap(torch.sin)(torch.zeros(2)).tolist())
try:
    torch.fft.nope
except AttributeError as error:
    print(error)
dropin.uninstall()
import torchcompat
print(torchcompat.__name__, torchcompat.nn.__name__, torchcompat.nn.Linear(2, 2), torchcompat.autograd.functional.jacobian is not None)
"""
    assert run(code).splitlines() == [
        "torch torch.nn torch.nn.functional torch.utils.data True False False",
        "torch.serialization torch.utils.data.datapipes [0.0, 0.0]", "module 'torch.fft' has no attribute 'nope'",
        "torchcompat torchcompat.nn Linear(in_features=2, out_features=2, bias=True) True"]


def test_a_script_runs_unchanged(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys, torch\nprint(torch.ones(2).sum().item(), sys.argv[1:], __name__)\n")
    done = subprocess.run([sys.executable, "-m", "torchcompat", str(script), "--flag"], cwd=ROOT, text=True, capture_output=True,
                          timeout=120)
    assert done.stdout.strip() == "2.0 ['--flag'] __main__", done.stderr


def test_the_command_line_says_what_it_cannot_find() -> None:
    done = subprocess.run([sys.executable, "-m", "torchcompat", "nowhere.py"], cwd=ROOT, text=True, capture_output=True, timeout=120)
    assert done.returncode == 2 and "cannot find 'nowhere.py'" in done.stderr


def test_importing_is_light() -> None:
    loaded = run("import sys, torchcompat\nprint([m for m in ('numba', 'mindspore', 'scipy', 'matplotlib', 'torch', 'torchcompat.nn') if m "
                 "in sys.modules])")
    assert loaded == "[]"


def test_real_torch_is_not_replaced() -> None:
    code = ("import sys, types; sys.modules['torch'] = types.ModuleType('torch')\nfrom torchcompat.dropin import install\n"
            "try: install()\nexcept RuntimeError as e: print(e)")
    assert "torch is already imported" in run(code)


def test_arrays_with_a_dtype_object_of_their_own_stay_on_the_quiet_path() -> None:
    import pickle

    array = pickle.loads(pickle.dumps(np.ones((2, 2), np.float32)))
    array = array.view(array.dtype.newbyteorder("="))  # an equal dtype, but another object
    assert array.dtype is not np.dtype("f4")
    for t in (torch.tensor(array), torch.from_numpy(array), torch.as_tensor(array)):
        assert t._data.dtype is t._k.np
    shared = torch.from_numpy(array)
    shared[0, 0] = 5
    assert array[0, 0] == 5


def test_a_device_as_a_block_is_where_tensors_are_made() -> None:
    with torch.device("meta"):
        assert torch.zeros(2).device.type == torch.randn(4, 4).device.type == torch.nn.Linear(2, 2).weight.device.type == "meta"
        with torch.device("cpu"):
            assert torch.ones(1).device.type == "cpu"
        assert torch.tensor([1.0]).device.type == "meta"
    assert torch.ones(1).device.type == "cpu"


@pytest.mark.parametrize(("size", "error", "text"), [
    (("a",), TypeError, "randn(): argument 'size' (position 1) must be tuple of ints, not str"),
    ((-4, -4), RuntimeError, "Trying to create tensor with negative dimension -4: [-4, -4]"),
    (([4, -4],), RuntimeError, "Trying to create tensor with negative dimension -4: [4, -4]"),
])
def test_sizes_of_random_tensors_are_checked(size: tuple[object, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        torch.randn(*size)
    assert str(raised.value) == text
