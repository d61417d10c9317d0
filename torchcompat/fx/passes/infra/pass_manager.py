"""Passes in an order that meets their constraints, carried out until nothing changes."""

from __future__ import annotations

import collections
import functools
import inspect
import logging
from typing import Any
from collections.abc import Callable

from autograd_tape.annotations import Fn
from torchcompat._calls.absent import absences as _absences
from torchcompat.fx.graph_module import GraphModule
from torchcompat.nn import Module

from .pass_base import PassResult

__all__ = ["pass_result_wrapper", "this_before_that_pass_constraint", "PassManager"]

logger = logging.getLogger(__name__)
logger.setLevel(logging.WARNING)
Constraint = Callable[[Fn, Fn], bool]


def _name(fn: Any) -> str:
    return str(fn.__name__ if inspect.isfunction(fn) else type(fn).__name__)


def pass_result_wrapper(fn: Any) -> Any:
    """A pass of a function that changes its module or gives another: what it gives counts as changed."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped_fn(gm: Module) -> PassResult | None:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        return PassResult(result, True) if isinstance(result, Module) else None

    wrapped_fn.__name__ = _name(fn)
    return wrapped_fn


def _validate_pass_schedule_constraint(constraint: Constraint, passes: list[Fn]) -> None:
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1:]):
            if not constraint(a, b):
                raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and {b} at "
                                   f"index {j} in pass list.")


def _topological_sort_passes(passes: list[Fn], constraints: list[Constraint]) -> list[Fn]:
    """The passes, each behind those that constraints want before it.

    Raises:
        RuntimeError: constraints want passes before each other.
    """
    if not constraints:
        return passes
    before = {a: [b for b in passes for allows in constraints if a != b and not allows(a, b)] for a in passes}
    left = {a: len(needs) for a, needs in before.items()}
    ready = collections.deque([a for a in passes if not left[a]])
    done: list[Fn] = []
    while ready:
        done.append(first := ready.popleft())
        for a, needs in before.items():
            if count := needs.count(first):
                left[a] -= count
                if not left[a]:
                    ready.append(a)
    circle = [a for a, count in left.items() if count]
    if circle:
        raise RuntimeError(f"Circular dependency detected within the following passes: {circle}")
    return done


def this_before_that_pass_constraint(this: Fn, that: Fn) -> Constraint:
    """The constraint that one pass comes before another."""

    def depends_on(a: Fn, b: Fn) -> bool:
        return a != that or b != this

    return depends_on


class PassManager:
    """Carries out passes, in an order that the constraints allow.

    Args:
        constraints: functions of two passes, whether the first may come before the second.
        steps: how often all are carried out at most; no more than once after the last change.
        run_checks_after_each_pass: whether `check` is called after each pass, not only before the first.
    """

    _validated = False
    steps = 1

    def __init__(self, passes: list[Fn] | None = None, constraints: list[Constraint] | None = None, steps: int | None = None,
                 run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        if steps:
            self.steps = steps
        self.run_checks_after_each_pass, self.suppress_check_failures = run_checks_after_each_pass, suppress_check_failures

    def add_pass(self, _pass: Fn) -> None:
        """One more pass, at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """One more constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Holds the order of the passes to the constraints.

        Raises:
            RuntimeError: one is not met.
        """
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Puts the passes in an order that meets the constraints.

        Raises:
            RuntimeError: there is none.
        """
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[[Module], None]) -> None:
        """Lets a function of a module check it.

        Raises:
            TypeError: the function does not take one argument.
        """
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign, assignment]

    def check(self, module: Module) -> None:
        """Raises where a module is not as it should be; nothing is wrong until `add_checks` says what is."""

    def __call__(self, module: Module) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for i, fn in enumerate(self.passes):
                try:
                    module, found = self._carry_out(fn, module)
                except Exception as error:
                    before = [_name(p) for p in self.passes[:i]]
                    message = f"An error occurred when running the '{_name(fn)}' pass after the following passes: {before}"
                    raise Exception(message) from error
                modified = modified or found
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)

    def _carry_out(self, fn: Fn, module: Module) -> tuple[Module, bool]:
        """The module after a pass, and whether that changed it."""
        logger.debug("Running pass '%s'", _name(fn))
        result = fn(module)
        if not hasattr(result, "graph_module"):
            raise TypeError(f"The result of the pass {_name(fn)} should be type PassResult.Please wrap it with pass_result_wrapper()")
        module = result.graph_module
        if isinstance(module, GraphModule):
            logger.debug("Graph after pass '%s': %s", _name(fn), module.graph)
            module.recompile()
        if self.run_checks_after_each_pass:
            self.check(module)
        return module, result.modified


_absences(__name__)
