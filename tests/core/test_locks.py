"""Every lock of both packages, held by another thread while the process forks, is open in the child."""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import os
import pkgutil
import threading
import types
from _thread import LockType, RLock
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import autograd_tape
import torchcompat
from autograd_tape.locks import _locks, cached_property, fork_safe_lock
from autograd_tape.random import Generator

PACKAGES = (autograd_tape, torchcompat)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
MAKERS = {"Lock", "RLock", "allocate_lock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier"}
OWN = {
    "autograd_tape/locks.py": "where they are made",
    "autograd_tape/executors/kernels/sharing.py": "the child makes the pool anew",
}


def modules() -> Iterator[types.ModuleType]:
    """All modules of both packages, imported; but those that are programs, and what needs Numba is there only with it."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if found.name.endswith(("__main__", "pytest_plugin")):
                continue
            try:
                yield importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                assert error.name is not None and not error.name.startswith(("autograd_tape", "torchcompat")), found.name


def is_lock(value: object) -> bool:
    return isinstance(value, (LockType, RLock))


def inside(value: Any) -> dict[str, Any]:
    """The attributes of an object, in its dictionary and its slots."""
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ()) if hasattr(value, name)]
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots}}


def ours(value: object) -> bool:
    return type(value).__module__.partition(".")[0] in ("autograd_tape", "torchcompat")


def locks() -> dict[str, Any]:
    """Every lock that a module, a class of it or an object of ours that it holds has, by its path."""
    found: dict[str, Any] = {}
    for module in modules():
        for name, value in list(vars(module).items()):
            path = f"{module.__name__}:{name}"
            if is_lock(value):
                found[path] = value
            elif isinstance(value, type) and value.__module__ == module.__name__:
                for key, member in vars(value).items():
                    if is_lock(member):
                        found[f"{path}.{key}"] = member
                    elif isinstance(member, functools.cached_property) and is_lock(getattr(member, "lock", None)):
                        found[f"{path}.{key}"] = member.lock  # type: ignore[attr-defined]  # Python 3.11
            elif ours(value) and not isinstance(value, type):
                found |= {f"{path}.{key}": member for key, member in inside(value).items() if is_lock(member)}
    return found


def in_child(work: Callable[[], list[str]]) -> list[str]:
    """What `work` returns in a forked child, or that it hangs."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            answer = repr(work())
        except BaseException as error:
            answer = repr([repr(error)])
        os.write(write, answer[:60000].encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return list(ast.literal_eval(answer))


def closed(found: dict[str, Any]) -> list[str]:
    return [path for path, lock in found.items() if not lock.acquire(blocking=False)]


@needs_fork
def test_every_lock_held_by_another_thread_is_open_in_the_child() -> None:
    generator = Generator()
    generator._engine._stream()  # makes NumPy's, which is made when it is first asked for
    found = {**locks(), "GradManager()": autograd_tape.GradManager()._lock, "Generator()": generator._lock,
             "NumPy's in Generator()": generator._engine._bits.lock}
    assert len(found) > 12, found
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        for lock in found.values():
            lock.acquire()
        held.set()
        free.wait(60)
        for lock in found.values():
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(30)
        assert closed(found) == list(found), "not held"
        # By their paths: a child may have made what holds a lock anew.
        assert in_child(lambda: closed({**found, **locks()})) == []
    finally:
        free.set()
        thread.join(30)
    assert closed(found) == []
    for lock in found.values():
        lock.release()


@needs_fork
def test_what_the_forking_thread_holds_it_still_holds() -> None:
    lock = fork_safe_lock()

    def work() -> list[str]:
        found: list[bool] = []
        thread = threading.Thread(target=lambda: found.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
        lock.release()  # would raise where it had been opened
        return [str(found)]

    with lock:
        assert in_child(work) == ["[False]"]


@needs_fork
def test_properties_computed_at_a_fork() -> None:
    begun, free = threading.Event(), threading.Event()

    class Slow:
        waits = True

        @cached_property
        def value(self) -> int:
            if self.waits:
                begun.set()
                free.wait(60)
            return 3

    thread = threading.Thread(target=lambda: Slow().value)
    thread.start()

    def work() -> list[str]:
        Slow.waits = False
        return [str(Slow().value)]

    try:
        assert begun.wait(30)
        assert in_child(work) == ["3"]
    finally:
        free.set()
        thread.join(30)


def test_locks_that_nobody_uses_go() -> None:
    gc.collect()
    before = len(_locks)
    lock = fork_safe_lock()
    assert len(_locks) == before + 1
    del lock
    gc.collect()
    assert len(_locks) == before


def test_locks_are_made_in_one_place() -> None:
    """No source calls a maker of locks, nor `functools.cached_property`, which has one."""
    wrong = []
    for package in PACKAGES:
        root = Path(package.__file__ or "").parent
        for path in root.rglob("*.py"):
            name = str(path.relative_to(root.parent))
            text = path.read_text()
            if name in OWN or not any(word in text for word in (*MAKERS, "register_at_fork", "cached_property")):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call):
                    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    if called in MAKERS or called == "register_at_fork":
                        wrong.append(f"{name}:{node.lineno}: {called}")
                elif isinstance(node, ast.ImportFrom) and node.module == "functools" and "cached_property" in [a.name for a in node.names]:
                    wrong.append(f"{name}:{node.lineno}: cached_property")
    assert not wrong
    assert all((Path(autograd_tape.__file__ or "").parent.parent / name).exists() for name in OWN)
