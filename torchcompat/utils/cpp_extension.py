"""Extensions in C++: built as Python's own are, for there are no headers of torch's here.

Scripts that build extensions go through: their names are here, and a source that needs nothing of torch's is compiled, and loaded. One that
says `#include <torch/extension.h>` fails as it would under a torch without its headers: by what the compiler says.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import setuptools
from setuptools.command.build_ext import build_ext

import torchcompat as torch

from .._calls.absent import absences as _absences
from .file_baton import FileBaton

__all__ = [
    "get_default_build_root", "check_compiler_ok_for_platform", "get_compiler_abi_compatibility_and_version", "BuildExtension",
    "CppExtension", "CUDAExtension", "SyclExtension", "include_paths", "library_paths", "load", "load_inline", "is_ninja_available",
    "verify_ninja_availability", "remove_extension_h_precompiler_headers", "get_cxx_compiler", "check_compiler_is_gcc"]

IS_WINDOWS, IS_MACOS, IS_LINUX = sys.platform == "win32", sys.platform.startswith("darwin"), sys.platform.startswith("linux")
IS_HIP_EXTENSION = False
CUDA_HOME = CUDNN_HOME = ROCM_HOME = HIP_HOME = ROCM_VERSION = SYCL_HOME = None
LIB_EXT, CLIB_EXT = (".pyd", ".dll") if IS_WINDOWS else (".so", ".so")
CLIB_PREFIX, EXEC_EXT = ("", ".exe") if IS_WINDOWS else ("lib", "")
SHARED_FLAG = "/DLL" if IS_WINDOWS else "-shared"
MINIMUM_GCC_VERSION, MINIMUM_CLANG_VERSION, MINIMUM_MSVC_VERSION = (5, 0, 0), (3, 3, 0), (19, 0, 24215)
_NO_CUDA = "CUDA_HOME environment variable is not set. Please set it to your CUDA install root."
_NO_SYCL = "SYCL_HOME environment variable is not set. Please set it to your SYCL install root."


def get_default_build_root() -> str:
    """The folder in which `load` builds, where nobody says another."""
    return os.path.realpath(os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "torch_extensions"))


def get_cxx_compiler() -> str:
    """The compiler: what the environment says by `CXX`, else the system's."""
    return os.environ.get("CXX", "cl" if IS_WINDOWS else "c++")


def _version_of(compiler: str) -> str | None:
    """What a compiler says of itself; None where there is none."""
    if shutil.which(compiler) is None:
        return None
    return subprocess.run([compiler, "-v"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stderr


def check_compiler_is_gcc(compiler: str) -> bool:
    """Whether a compiler is GCC's of C++."""
    said = _version_of(compiler)
    return IS_LINUX and said is not None and "gcc version" in said


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether a compiler is the one that the system's programs are built by: GCC on Linux, Clang on macOS."""
    said = _version_of(compiler)
    return said is not None and (IS_WINDOWS or ("gcc version" if IS_LINUX else "clang") in said)


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, Any]:
    """(whether a compiler is one that extensions can be built by, its version)."""
    from ..torch_version import TorchVersion

    found = re.search(r"version (\d+\.\d+\.\d+)", _version_of(compiler) or "")
    version = TorchVersion(found.group(1) if found else "0.0.0")
    least = ".".join(map(str, MINIMUM_GCC_VERSION if IS_LINUX else MINIMUM_CLANG_VERSION))
    return check_compiler_ok_for_platform(compiler) and version >= TorchVersion(least), version


def is_ninja_available() -> bool:
    """Whether there is Ninja, which nothing here needs."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raises RuntimeError where there is no Ninja."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def remove_extension_h_precompiler_headers() -> None:
    """Takes away headers that were compiled before: there are none."""


def _refuse(device_type: str) -> None:
    if device_type == "cuda":
        raise OSError(_NO_CUDA)
    if device_type == "xpu":
        raise OSError(_NO_SYCL)


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders of torch's headers: none.

    Raises:
        OSError: those of CUDA, or SYCL, are asked for.
    """
    _refuse(device_type)
    return []


def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: str | None = None) -> list[str]:
    """The folders of torch's libraries: none.

    Raises:
        OSError: those of CUDA, or SYCL, are asked for.
    """
    _refuse(device_type)
    return []


def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> setuptools.Extension:
    """An extension of C++ for `setup(ext_modules=[...])`.

    Args:
        args, kwargs: those of `setuptools.Extension`.
    """
    kwargs["language"] = "c++"
    return setuptools.Extension(name, list(sources), *args, **kwargs)


def CUDAExtension(name: str, sources: Sequence[str], *args: object, **kwargs: object) -> setuptools.Extension:
    """Raises OSError: there is no CUDA."""
    raise OSError(_NO_CUDA)


def SyclExtension(name: str, sources: Sequence[str], *args: object, **kwargs: object) -> setuptools.Extension:
    """Raises OSError: there is no SYCL."""
    raise OSError(_NO_SYCL)


class BuildExtension(build_ext):
    """The command `build_ext` of scripts that build extensions.

    Args:
        no_python_abi_suffix: name files without the version of Python.
        use_ninja: taken, and not needed.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args)
        self.no_python_abi_suffix = kwargs.get("no_python_abi_suffix", False)
        self.use_ninja = kwargs.get("use_ninja", True)

    @classmethod
    def with_options(cls, **options: Any) -> type:
        """A class whose instances are made with these options."""

        class cls_with_options(cls):  # type: ignore[misc, valid-type]  # of whatever class it is asked of
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **{**kwargs, **options})

        return cls_with_options

    def finalize_options(self) -> None:
        """As of all such commands."""
        super().finalize_options()

    def build_extensions(self) -> None:
        """Builds; extensions may have flags by compiler, of which those for C++ count."""
        for extension in self.extensions:
            flags = extension.extra_compile_args
            extension.extra_compile_args = flags.get("cxx", []) if isinstance(flags, dict) else flags
            extension.define_macros.append(("TORCH_EXTENSION_NAME", extension.name.split(".")[-1]))
        super().build_extensions()

    def get_ext_filename(self, ext_name: str) -> str:
        """The file of an extension."""
        name = super().get_ext_filename(ext_name)
        parts = name.split(".")
        return ".".join([*parts[:-2], parts[-1]]) if self.no_python_abi_suffix and len(parts) > 2 else name

    def get_export_symbols(self, ext: setuptools.Extension) -> list[str]:
        """What an extension shows."""
        return list(ext.export_symbols or [])


def load(name: str, sources: str | list[str], extra_cflags: list[str] | None = None, extra_cuda_cflags: list[str] | None = None,
         extra_sycl_cflags: list[str] | None = None, extra_ldflags: list[str] | None = None, extra_include_paths: list[str] | None = None,
         build_directory: str | None = None, verbose: bool = False, with_cuda: bool | None = None, with_sycl: bool | None = None,
         is_python_module: bool = True, is_standalone: bool = False, keep_intermediates: bool = True) -> Any:
    """Compiles sources of C++ to an extension, unless that was done before, and loads it.

    Args:
        build_directory: where to; a folder of the extension's name in that of `get_default_build_root`.
        is_python_module: whether it is a module, which is given; else the path is, of a library that is loaded, or of a program
            (`is_standalone`).

    Raises:
        OSError: a source is of CUDA.
        RuntimeError: it cannot be compiled; with what the compiler says.
    """
    paths = [sources] if isinstance(sources, str) else list(sources)
    if with_cuda or any([path.endswith((".cu", ".cuh")) for path in paths]):
        raise OSError(_NO_CUDA)
    if with_sycl or any([path.endswith(".sycl") for path in paths]):
        raise OSError(_NO_SYCL)
    folder = _folder(name, build_directory)
    target = folder / (name + (EXEC_EXT if is_standalone else LIB_EXT))
    command = [
        get_cxx_compiler(), *([] if is_standalone else ["-shared", "-fPIC"]), "-std=c++20", f"-DTORCH_EXTENSION_NAME={name}",
        f"-I{sysconfig.get_paths()['include']}", *[f"-I{path}" for path in extra_include_paths or ()], *(extra_cflags or ()),
        *map(os.path.abspath, paths), *(extra_ldflags or ()), "-o", str(target)]
    content = hashlib.sha256("\0".join(command).encode() + b"".join([Path(path).read_bytes() for path in paths])).hexdigest()
    baton, done = FileBaton(str(folder / "lock")), folder / "built"
    while not baton.try_acquire():
        baton.wait()
    try:
        if not (target.exists() and done.exists() and done.read_text() == content):
            _compile(name, command, verbose)
            done.write_text(content)
    finally:
        baton.release()
    if is_standalone:
        return str(target)
    if is_python_module:
        return _imported(name, target)
    torch.ops.load_library(str(target))
    return str(target)


def _folder(name: str, given: str | None) -> Path:
    kind = f"py{sys.version_info.major}{sys.version_info.minor}_cpu"
    folder = Path(given or os.path.join(os.environ.get("TORCH_EXTENSIONS_DIR", get_default_build_root()), kind, name))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _compile(name: str, command: list[str], verbose: bool) -> None:
    if verbose:
        print(" ".join(command), file=sys.stderr)
    try:
        built = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise RuntimeError(f"Error building extension '{name}': {error}") from error
    if built.returncode:
        raise RuntimeError(f"Error building extension '{name}': {built.stdout}{built.stderr}")


def _imported(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_inline(name: str, cpp_sources: str | list[str], cuda_sources: str | list[str] | None = None,
                sycl_sources: str | list[str] | None = None, functions: Any = None, extra_cflags: list[str] | None = None,
                extra_cuda_cflags: list[str] | None = None, extra_sycl_cflags: list[str] | None = None,
                extra_ldflags: list[str] | None = None, extra_include_paths: list[str] | None = None, build_directory: str | None = None,
                verbose: bool = False, with_cuda: bool | None = None, with_sycl: bool | None = None, is_python_module: bool = True,
                with_pytorch_error_handling: bool = True, keep_intermediates: bool = True, use_pch: bool = False,
                no_implicit_headers: bool = False) -> Any:
    """`load`, of sources that are given as texts.

    Args:
        functions: what the module is to show, which takes torch's headers.
        no_implicit_headers: do not begin with these headers.

    Raises:
        RuntimeError: it cannot be compiled, as all that begins with torch's headers.
    """
    texts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    if functions is not None:
        names = [functions] if isinstance(functions, str) else list(functions)
        shown = [f'm.def("{n}", torch::wrap_pybind_function({n}), "{functions[n] if isinstance(functions, dict) else n}");' for n in names]
        texts.append("\n".join(["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *shown, "}"]))
    if not no_implicit_headers:
        texts.insert(0, "#include <torch/extension.h>")
    folder = _folder(name, build_directory)
    source = folder / "main.cpp"
    source.write_text("\n".join(texts))
    return load(name, [str(source)], extra_cflags, extra_cuda_cflags, extra_sycl_cflags, extra_ldflags, extra_include_paths, str(folder),
                verbose, bool(with_cuda or cuda_sources), bool(with_sycl or sycl_sources), is_python_module)


_absences(__name__)
