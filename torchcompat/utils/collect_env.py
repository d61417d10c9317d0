"""`python -m torch.utils.collect_env`: what a report of a fault says of the machine and of what is installed on it.

Functions that look take the one that carries out commands, so that others can take its place: from a command to (exit status, output,
errors), all of them texts. What is not there is None.
"""

from __future__ import annotations

import locale
import os
import platform
import re
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torchcompat as torch

from .._calls.absent import absences as _absences

Command = str | list[str]
Runner = Callable[[Command], tuple[int, str, str]]

_WORDS = """
PyTorch version: {torch_version}
Is debug build: {is_debug_build}
CUDA used to build PyTorch: {cuda_compiled_version}
ROCM used to build PyTorch: {hip_compiled_version}

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
CUDA_MODULE_LOADING set to: {cuda_module_loading}
GPU models and configuration: {nvidia_gpu_models}
Nvidia driver version: {nvidia_driver_version}
cuDNN version: {cudnn_version}
Is XPU available: {is_xpu_available}
HIP runtime version: {hip_runtime_version}
MIOpen runtime version: {miopen_runtime_version}
Is XNNPACK available: {is_xnnpack_available}
Caching allocator config: {caching_allocator_config}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}
{conda_packages}
"""
env_info_fmt = _WORDS.strip()
SystemEnv = namedtuple("SystemEnv", [  # in the order of torch's
    "torch_version", "is_debug_build", "cuda_compiled_version", "gcc_version", "clang_version", "cmake_version", "os", "libc_version",
    "python_version", "python_platform", "is_cuda_available", "cuda_runtime_version", "cuda_module_loading", "nvidia_driver_version",
    "nvidia_gpu_models", "cudnn_version", "is_xpu_available", "pip_version", "pip_packages", "conda_packages", "hip_compiled_version",
    "hip_runtime_version", "miopen_runtime_version", "caching_allocator_config", "is_xnnpack_available", "cpu_info"])
COMMON_PATTERNS = ["torch", "numpy", "triton", "optree"]
NVIDIA_PATTERNS = [
    "cuda-cudart", "cuda-cupti", "cuda-libraries", "cuda-opencl", "cuda-nvrtc", "cuda-runtime", "cublas", "cudnn", "cufft", "curand",
    "cusolver", "cusparse", "nccl", "nvjitlink", "nvtx"]
ONEAPI_PATTERNS = [
    "dpcpp-cpp-rt", "intel-cmplr-lib-rt", "intel-cmplr-lib-ur", "intel-cmplr-lic-rt", "intel-opencl-rt", "intel-sycl-rt", "mkl",
    "onemkl-sycl-blas", "onemkl-sycl-dft", "onemkl-sycl-lapack", "onemkl-sycl-rng", "onemkl-sycl-sparse", "intel-openmp", "tbb", "impi-rt",
    "impi-devel", "oneccl", "oneccl-devel", "intel-pti", "umf", "tcmlib"]
CONDA_PATTERNS = ["cudatoolkit", "soumith", "mkl", "magma"]
PIP_PATTERNS = ["mypy", "flake8", "onnx"]
_ALLOCATORS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


def run(command: Command) -> tuple[int, str, str]:
    """Carries out a command, a text by the shell.

    >>> run("echo here")
    (0, 'here', '')
    """
    try:
        done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        return 127, "", str(error)
    output, errors = [text.decode(locale.getpreferredencoding(False), "replace").strip() for text in (done.stdout, done.stderr)]
    return done.returncode, output, errors


def run_and_read_all(run_lambda: Runner, command: Command) -> str | None:
    """The output of a command; None where it fails."""
    status, output, _ = run_lambda(command)
    return None if status else output


def run_and_parse_first_match(run_lambda: Runner, command: Command, regex: str) -> str | None:
    """What a pattern's first group matches in the output of a command; None where it fails, or nothing matches."""
    found = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return None if found is None else found.group(1)


def run_and_return_first_line(run_lambda: Runner, command: Command) -> str | None:
    """The first line of the output of a command; None where it fails."""
    output = run_and_read_all(run_lambda, command)
    return None if output is None else output.split("\n")[0]


def _chosen(lines: Sequence[str], patterns: Sequence[str]) -> str:
    return "\n".join([line for line in lines if any([pattern in line for pattern in patterns])])


def get_conda_packages(run_lambda: Runner, patterns: Sequence[str] | None = None) -> str | None:
    """The packages of conda that matter; None where there is no conda."""
    output = run_and_read_all(run_lambda, [os.environ.get("CONDA_EXE", "conda"), "list"])
    wanted = patterns or CONDA_PATTERNS + COMMON_PATTERNS + NVIDIA_PATTERNS + ONEAPI_PATTERNS
    return None if output is None else _chosen([line for line in output.splitlines() if not line.startswith("#")], wanted)


def get_pip_packages(run_lambda: Runner, patterns: Sequence[str] | None = None) -> tuple[str, str | None]:
    """("pip3", the packages of this Python that matter); None of them where pip fails."""
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    output = run_and_read_all(run_lambda, [sys.executable, "-mpip", "list", "--format=freeze"])
    wanted = patterns or PIP_PATTERNS + COMMON_PATTERNS + NVIDIA_PATTERNS + ONEAPI_PATTERNS
    return "pip3", None if output is None else _chosen(output.splitlines(), wanted)


def get_gcc_version(run_lambda: Runner) -> str | None:
    """The version of GCC."""
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda: Runner) -> str | None:
    """The version of Clang."""
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda: Runner) -> str | None:
    """The version of CMake, with the word."""
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_nvidia_smi() -> str:
    """The command that tells of GPUs."""
    if get_platform() == "win32":
        path = Path(os.environ.get("SYSTEMROOT", "C:\\Windows"), "System32", "nvidia-smi.exe")
        return f'"{path}"' if path.exists() else "nvidia-smi"
    return "nvidia-smi"


def get_nvidia_driver_version(run_lambda: Runner) -> str | None:
    """The version of the driver of GPUs."""
    if get_platform() == "darwin":
        return run_and_parse_first_match(run_lambda, "kextstat | grep -i cuda", r"com[.]nvidia[.]CUDA [(](.*?)[)]")
    return run_and_parse_first_match(run_lambda, get_nvidia_smi(), r"Driver Version: (.*?) ")


def get_gpu_info(run_lambda: Runner) -> str | None:
    """The GPUs, a line each."""
    output = run_and_read_all(run_lambda, f"{get_nvidia_smi()} -L")
    return None if output is None else re.sub(r" \(UUID: .+?\)", "", output)


def get_running_cuda_version(run_lambda: Runner) -> str | None:
    """The version of CUDA's compiler."""
    return run_and_parse_first_match(run_lambda, "nvcc --version", r"release .+ V(.*)")


def get_cudnn_version(run_lambda: Runner) -> str | None:
    """The files of cuDNN that the linker knows."""
    command = {"win32": "where cudnn*.dll", "darwin": "ls /usr/local/cuda/lib/libcudnn*"}.get(
        get_platform(), "ldconfig -p | grep libcudnn | rev | cut -d' ' -f1 | rev")
    output = run_and_read_all(run_lambda, command)
    files = sorted({os.path.realpath(path) for path in (output or "").split("\n") if os.path.isfile(os.path.realpath(path))})
    return None if not files else files[0] if len(files) == 1 else "Probably one of the following:\n" + "\n".join(files)


def get_linux_pkg_version(run_lambda: Runner, pkg_name: str) -> str:
    """The version of a package of the system; "N/A" where there is none."""
    for command, column in ((f"dpkg -l | grep '^ii  {pkg_name} '", 2), (f"dnf list | grep '{pkg_name}'", 1),
                            (f"zypper info {pkg_name} | grep Version", 2)):
        output = run_and_read_all(run_lambda, command)
        words = (output or "").split()
        if len(words) > column:
            return words[column]
    return "N/A"


def get_intel_gpu_driver_version(run_lambda: Runner) -> str:
    """The packages of Intel's driver, a line each."""
    names = ("intel-opencl-icd", "libze1", "level-zero")
    return "\n".join([f"* {name}:\t{get_linux_pkg_version(run_lambda, name)}" for name in names])


def get_intel_gpu_onboard(run_lambda: Runner) -> str:
    """The GPUs of Intel that the system knows; "N/A" where there are none."""
    output = run_and_read_all(run_lambda, "lspci | grep -iE 'VGA|DISPLAY' | grep INTEL")
    return "\n".join([f"* {line}" for line in output.splitlines()]) if output else "N/A"


def get_intel_gpu_detected(run_lambda: Runner) -> str:
    """The GPUs of Intel that can compute here: "N/A"."""
    return "N/A"


def get_platform() -> str:
    """The system: "linux", "win32", "cygwin", "darwin", or what Python calls it."""
    return next((name for name in ("linux", "win32", "cygwin", "darwin") if sys.platform.startswith(name)), sys.platform)


def get_mac_version(run_lambda: Runner) -> str | None:
    """The version of macOS."""
    return run_and_parse_first_match(run_lambda, "sw_vers -productVersion", r"(.*)")


def get_windows_version(run_lambda: Runner) -> str | None:
    """What Windows calls itself."""
    command = 'powershell.exe "gwmi -Class Win32_OperatingSystem | Select-Object -ExpandProperty Caption"'
    return run_and_read_all(run_lambda, command)


def get_lsb_version(run_lambda: Runner) -> str | None:
    """What a Linux calls itself by `lsb_release`."""
    return run_and_parse_first_match(run_lambda, "lsb_release -a", r"Description:\t(.*)")


def check_release_file(run_lambda: Runner) -> str | None:
    """What a Linux calls itself in its files."""
    return run_and_parse_first_match(run_lambda, "cat /etc/*-release", r'PRETTY_NAME="(.*)"')


def get_os(run_lambda: Runner) -> str | None:
    """The system, with its version and machine."""
    name = get_platform()
    if name in ("win32", "cygwin"):
        return get_windows_version(run_lambda)
    if name == "darwin":
        version = get_mac_version(run_lambda)
        return None if version is None else f"macOS {version} ({platform.machine()})"
    if name != "linux":
        return name
    return f"{get_lsb_version(run_lambda) or check_release_file(run_lambda) or name} ({platform.machine()})"


def get_python_platform() -> str:
    """The machine as Python has it."""
    return platform.platform()


def get_libc_version() -> str:
    """The C library of a Linux, such as "glibc-2.36"."""
    return "-".join(platform.libc_ver()) if get_platform() == "linux" else "N/A"


def get_cpu_info(run_lambda: Runner) -> str:
    """What the system tells of its processors."""
    command = {"linux": "lscpu", "darwin": "sysctl -n machdep.cpu.brand_string",
               "win32": 'powershell.exe "gwmi -Class Win32_Processor | Select-Object -Property Name,Manufacturer,Family,Architecture"'}
    if get_platform() not in command:
        return ""
    status, output, errors = run_lambda(command[get_platform()])
    return errors if status else output


def get_cachingallocator_config() -> dict[str, str]:
    """What the environment says of memory of GPUs."""
    return {name: os.environ[name] for name in _ALLOCATORS if os.environ.get(name)}


def get_cuda_module_loading_config() -> str:
    """How CUDA loads: "N/A", there is none."""
    return "N/A"


def is_xnnpack_available() -> str:
    """Whether there is XNNPACK: "False"."""
    return str(getattr(torch.backends.xnnpack, "enabled"))  # noqa: B009  # an attribute of its class


def get_env_info() -> Any:
    """All of it, as a `SystemEnv`."""
    pip_version, pip_packages = get_pip_packages(run)
    return SystemEnv(
        torch_version=torch.__version__, is_debug_build=str(torch.version.debug), cuda_compiled_version=torch.version.cuda,
        gcc_version=get_gcc_version(run), clang_version=get_clang_version(run), cmake_version=get_cmake_version(run), os=get_os(run),
        libc_version=get_libc_version(), python_version=f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)".replace("\n", " "),
        python_platform=get_python_platform(), is_cuda_available=str(torch.cuda.is_available()),
        cuda_runtime_version=get_running_cuda_version(run), cuda_module_loading=get_cuda_module_loading_config(),
        nvidia_driver_version=get_nvidia_driver_version(run), nvidia_gpu_models=get_gpu_info(run), cudnn_version=get_cudnn_version(run),
        is_xpu_available=str(torch.xpu.is_available()), pip_version=pip_version, pip_packages=pip_packages,
        conda_packages=get_conda_packages(run), hip_compiled_version="N/A", hip_runtime_version="N/A", miopen_runtime_version="N/A",
        caching_allocator_config=get_cachingallocator_config(), is_xnnpack_available=is_xnnpack_available(), cpu_info=get_cpu_info(run))


def pretty_str(envinfo: Any) -> str:
    """What was found as a text of lines."""
    facts = envinfo._asdict()
    if envinfo.nvidia_gpu_models is not None and "\n" in envinfo.nvidia_gpu_models:
        facts["nvidia_gpu_models"] = f"\n{envinfo.nvidia_gpu_models}\n"
    if not torch.cuda.is_available() and all(
            [facts[name] is None for name in ("cuda_runtime_version", "nvidia_gpu_models", "nvidia_driver_version")]):
        facts |= dict.fromkeys(["cuda_runtime_version", "nvidia_gpu_models", "nvidia_driver_version", "cudnn_version"], "No CUDA")
        facts["cuda_compiled_version"] = envinfo.cuda_compiled_version or "None"
    said = {True: "Yes", False: "No", None: "Could not collect"}
    facts = {name: said[value] if value is None or isinstance(value, bool) else value for name, value in facts.items()}
    for name, mark in (("pip_packages", envinfo.pip_version), ("conda_packages", "conda")):
        facts[name] = "\n".join([f"[{mark}] {line}" for line in (facts[name] or "No relevant packages").split("\n")])
    facts["caching_allocator_config"] = envinfo.caching_allocator_config or "N/A"
    return env_info_fmt.format(**facts)


def get_pretty_env_info() -> str:
    """All of it as a text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Prints it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
else:
    _absences(__name__)
