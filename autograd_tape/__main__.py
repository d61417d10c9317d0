"""Command line: `python -m autograd_tape check module:function --inputs 2,3 3:float64 --order 2`, and likewise `show`, which prints what
a function does as a table, and with `--svg FILE` draws it; `python -m autograd_tape plan module:function --mesh dp=64,tp=8 --inputs
4096,1024@dp,-`, which prints what a step of it takes of each device of a mesh; `python -m autograd_tape compile` fills the folder of
machine code, so that no program waits for the compiler."""

from __future__ import annotations

import argparse
import importlib
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .annotations import Fn, Keywords
from .errors import ArgumentError


def parse_input(text: str, rng: np.random.Generator) -> np.ndarray:
    """An array from `sizes[:dtype[:low..high]]`: "2,3", "scalar", "4:int64:0..10", "2,3:float64:0.1..2".

    Floating-point values are normal, or uniform within the range; integers are uniform within it (0..10 where left out).

    >>> parse_input("2,3", np.random.default_rng(0)).shape, parse_input("4:int64:0..3", np.random.default_rng(0)).max() < 3
    ((2, 3), True)
    """
    sizes, _, rest = text.partition(":")
    name, _, limits = rest.partition(":")
    try:
        shape = () if sizes in ("", "scalar") else tuple(int(n) for n in sizes.split(","))
        dtype = np.dtype(name or "float64")
        low, high = (float(x) for x in limits.split("..")) if limits else (0.0, 10.0)
        if any(n < 0 for n in shape):
            raise ValueError("negative size")
        if math.prod(shape) * dtype.itemsize > 1 << 32:
            raise ValueError("more than 4 GiB")
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError("the range is empty or not finite")
        if dtype.kind in "iu":
            limits_of = np.iinfo(dtype)
            if low != int(low) or high != int(high) or low < limits_of.min or high - 1 > limits_of.max:
                raise ValueError(f"{dtype} does not hold the range")
    except (ValueError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"cannot read the input {text!r} ({error}); write sizes[:dtype[:low..high]], such as "
                                         "2,3:float64:0.1..2")
    if dtype.kind == "f":
        return np.asarray(rng.uniform(low, high, shape) if limits else rng.standard_normal(shape)).astype(dtype)
    if dtype.kind in "iu":
        return np.asarray(rng.integers(int(low), int(high), shape)).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    raise argparse.ArgumentTypeError(f"inputs of dtype {dtype} cannot be drawn; use a float, int or bool dtype")


def find_function(text: str) -> Fn:
    """The function named by `module:function`, or an operation by `F:name`."""
    module, _, path = text.partition(":")
    if not module or not path:
        raise argparse.ArgumentTypeError(f"cannot read {text!r}; write module:function, or F:operation")
    try:
        if module == "F":
            from . import F

            return getattr(F, path)
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        found = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:  # importing a module runs it, and so may raise anything
        raise argparse.ArgumentTypeError(f"cannot find {text!r}: {type(error).__name__}: {_line(error)}")
    if not callable(found):
        raise argparse.ArgumentTypeError(f"{text!r} is no function but {type(found).__name__}")
    if isinstance(found, type):
        raise argparse.ArgumentTypeError(f"{text!r} is a class; name an instance, such as {path.lower()} = {path}(...) in {module}")
    return found


def _line(error: Exception) -> str:
    """An error's text on one line."""
    return " ".join(str(error).split())


def _check(function: Callable[..., Any], inputs: Sequence[np.ndarray], options: argparse.Namespace) -> int:
    from .check import check_grad

    report = check_grad(function, inputs, eps=options.eps, atol=options.atol, rtol=options.rtol, order=options.order, seed=options.seed,
                        forward=options.forward, layouts=options.layouts)
    report.print()
    return 0 if report.ok else 1


def _show(function: Fn, inputs: Sequence[np.ndarray], options: argparse.Namespace) -> int:
    from .show import record

    tape = record(function, inputs, measure=options.measure)
    if options.svg:
        tape.draw(options.svg)
    print(tape.summary())
    return 0


def _plan(function: Fn, inputs: Sequence[np.ndarray], options: argparse.Namespace) -> int:
    from .sharding.planning import HERE, plan, plot, sweep

    machine = HERE if options.network is None else HERE.network(*options.network)
    how: Keywords = {"inputs": options.shapes, "params": dict(options.params), "wrt": options.wrt, "backward": not options.forward,
                           "machine": machine}
    print(plan(function, options.mesh, **how))
    if options.plot:
        plot(sweep(function, options.mesh, options.devices, **how)).save(options.plot)
    return 0


def _compile(parser: _Parser, part: tuple[int, int] | None) -> int:
    """Compiles every kernel, in as many processes as there are processors; `part`: this is one of them, and prints what it compiled."""
    from .executors.kernels._kernel import compile_all
    from .executors.kernels._on_demand import available, compiled_kernels
    from .executors.kernels._store import cache_dir
    from .ops import RECORDS

    if not available():
        parser.error("compile: Numba is not installed; pip install autograd-tape[fast]")
    for record in RECORDS.values():  # whose kernels are formulas
        record.field("numpy")
    if part:
        compile_all(part=part[0], parts=part[1])
        print(*compiled_kernels())
        return 0
    parts = min(16, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)  # a compiler each: 300 MB
    command = [sys.executable, "-m", __package__, "compile", "--part"]
    others = [subprocess.Popen([*command, str(k), str(parts)], stdout=subprocess.PIPE, text=True) for k in range(1, parts)]
    compile_all(parts=parts)
    said = [other.communicate()[0].split() or (0, 0) for other in others]
    kernels = compile_all()  # all that is kept now, and what a process that failed has left
    count, seconds = [sum(each) for each in zip(compiled_kernels(), *[(int(n), float(s)) for n, s in said])]
    print(f"{kernels} kernels, of which {count} were compiled in {seconds:.0f} s, in {cache_dir()}; AUTOGRAD_TAPE_KERNELS=kept uses them "
          "for smaller arrays, too")
    return 0


def _param(text: str) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """How a parameter is split: `*.weight@tp,-`."""
    name, at, dims = text.rpartition("@")
    if not at or not name:
        raise argparse.ArgumentTypeError(f"cannot read {text!r}; write a parameter's name, and the axes of each dimension: 0.weight@tp,-")
    return name, tuple([() if d in ("-", "") else tuple(d.split("+")) for d in dims.split(",")])


def _mesh(text: str) -> dict[str, int]:
    """The axes of a mesh, `dp=64,tp=8`.

    >>> _mesh("dp=64,tp=8")
    {'dp': 64, 'tp': 8}
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, size = part.partition("=")
        if not name or not size.isdecimal() or int(size) < 1 or name in found:
            raise argparse.ArgumentTypeError(f"cannot read the mesh {text!r}; write names and sizes, such as dp=64,tp=8")
        found[name] = int(size)
    return found


def _svg(text: str) -> str:
    from .show.svg import check_file

    try:
        check_file(text)
    except ArgumentError as error:
        raise argparse.ArgumentTypeError(_line(error))
    return text


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Says what is wrong on one line."""
        self.exit(2, f"{self.prog}: error: {message}\n")


def _parser() -> _Parser:
    parser = _Parser(prog="python -m autograd_tape", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="hold the gradients of a function against numerical ones")
    show = commands.add_parser("show", help="print the operations of a function as a table, or draw them")
    for command, run in ((check, _check), (show, _show)):
        command.set_defaults(run=run)
        command.add_argument("function", help="module:function, or F:operation")
        command.add_argument("--inputs", nargs="*", default=["3"], metavar="SIZES[:DTYPE[:LOW..HIGH]]",
                             help="one per argument, nothing behind it for a function of none (default: 3)")
        command.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    planning = commands.add_parser("plan", help="print what a step of a function takes of each device of a mesh, forward and back")
    planning.set_defaults(run=_plan, inputs=(), seed=0)
    planning.add_argument("function", help="module:function, of tensors with --inputs, else of a mesh; or module:network")
    planning.add_argument("--mesh", type=_mesh, required=True, metavar="NAME=SIZE,...", help="axes and sizes, such as dp=64,tp=8")
    planning.add_argument("--inputs", dest="shapes", nargs="+", metavar="SIZES[:DTYPE][@AXES]",
                          help="one per argument; after @ the axes of each dimension, a+b for several, - for none: 64,8:float32@dp,-")
    planning.add_argument("--params", nargs="+", type=_param, default=[], metavar="NAME@AXES",
                          help="how parameters of a network are split: *.weight@tp,-")
    planning.add_argument("--wrt", nargs="+", type=int, metavar="NUMBER", help="the inputs that require grad (default: all of a function)")
    planning.add_argument("--network", nargs=2, type=float, metavar=("LATENCY", "BANDWIDTH"),
                          help="seconds of a message and bytes in a second (default: as measured between processes of one machine)")
    planning.add_argument("--forward", action="store_true", help="without the backward pass")
    planning.add_argument("--plot", type=_svg, metavar="FILE", help="draw time and memory against the number of devices")
    planning.add_argument("--devices", type=int, default=4096, help="up to which number of devices --plot goes (default: 4096)")
    compiling = commands.add_parser("compile", help="compile all kernels, and keep the machine code where programs look for it")
    compiling.add_argument("--part", nargs=2, type=int, help=argparse.SUPPRESS)
    check.add_argument("--order", type=int, choices=(1, 2), default=1, help="2 checks gradients of gradients too")
    check.add_argument("--forward", action="store_true", help="check forward mode too")
    check.add_argument("--layouts", action="store_true", help="check inputs that are transposed, strided and broadcast in memory")
    check.add_argument("--eps", type=float, default=1e-5)
    check.add_argument("--atol", type=float, default=1e-4)
    check.add_argument("--rtol", type=float, default=1e-3)
    show.add_argument("--svg", type=_svg, metavar="FILE", help="draw the graph to this file")
    show.add_argument("--measure", action="store_true", help="time the operations, forward and on a pass back")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; 0 where all is well, 1 where a gradient is wrong, 2 for bad arguments."""
    parser = _parser()
    options = parser.parse_args(argv)

    if options.command == "compile":
        return _compile(parser, options.part)
    if options.seed < 0:
        parser.error(f"argument --seed: {options.seed} is negative")
    try:
        function = find_function(options.function)
        rng = np.random.default_rng(options.seed)
        inputs = [parse_input(text, rng) for text in options.inputs]
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    try:
        status: int = options.run(function, inputs, options)
    except Exception as error:  # the function is the caller's, and may raise anything for these inputs
        parser.error(f"{options.command} of {options.function} could not run: {type(error).__name__}: {_line(error)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
