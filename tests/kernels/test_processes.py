"""Processes made by every means while the worker pool runs: children compute what the parent does, and all of them end."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand, sharing

from . import process_work
from .process_work import LIMIT, answers, child, tell

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there is nothing to share")
METHODS = multiprocessing.get_all_start_methods()
needs_fork = pytest.mark.skipif("fork" not in METHODS, reason="the system has no fork")


@pytest.fixture(autouse=True)
def expected() -> Iterator[dict[str, str]]:
    """What all processes answer; a pool that has run before the test, runs after it, with the same threads."""
    mode, threads = _on_demand.use_numba("auto"), sharing.get_num_threads()
    sharing.set_num_threads(2)
    try:
        found = answers()
        workers = list(sharing._pool.workers)
        assert workers and sharing._pool.serve is not None
        yield found
        assert answers() == found
        assert sharing._pool.workers == workers
        assert not sharing._pool.busy and not sharing._pool.hiring.locked()
    finally:
        sharing.set_num_threads(threads)
        _on_demand.use_numba(mode)


def gone(*pids: int) -> None:
    """Every one of the processes has ended, and was waited for: a zombie would still take signals."""
    deadline = time.monotonic() + LIMIT
    for pid in pids:
        while _exists(pid):
            assert time.monotonic() < deadline, f"process {pid} has not gone"
            time.sleep(0.01)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def end(processes: list[Any]) -> None:
    """Kill what still runs."""
    for process in processes:
        if process.is_alive():
            process.kill()
        process.join(LIMIT)


def ask(method: str) -> Any:
    """What a child made by the start method answers."""
    context: Any = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=tell, args=(sender,))
    process.start()
    sender.close()
    try:
        assert receiver.poll(LIMIT + 5), f"a child by {method} gives no answer"
        found = receiver.recv()
        process.join(LIMIT)
        assert process.exitcode == 0, f"a child by {method} ends with {process.exitcode}: {found}"
    finally:
        end([process])
    gone(process.pid)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_child_answers_as_its_parent(method: str, expected: dict[str, str]) -> None:
    assert ask(method) == expected


@needs_fork
def test_fork_from_another_thread(expected: dict[str, str]) -> None:
    found: list[Any] = []  # a plain thread: one of an executor joins itself at the child's end, which Python refuses
    thread = threading.Thread(target=lambda: found.append(ask("fork")))
    thread.start()
    thread.join(3 * LIMIT)
    assert found == [expected]


@needs_fork
@pytest.mark.parametrize("work", ["share", "parallel_for", "randn"])
def test_fork_while_threads_compute(work: str, expected: dict[str, str]) -> None:
    """The fork finds the pool owned, its workers within a chunk, and a generator in use."""
    x, stop, wrong = torch.randn(1 << 20), threading.Event(), []
    runs: dict[str, Callable[[], Any]] = {
        "share": lambda: x.sigmoid(),
        "parallel_for": lambda: sharing.parallel_for(64, 1, lambda start, stop: time.sleep(1e-5)),
        "randn": lambda: torch.randn(1 << 18),
    }

    def compute() -> None:
        try:
            while not stop.is_set():
                runs[work]()
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=compute) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        found = [ask("fork") for _ in range(3)]
    finally:
        stop.set()
        for thread in threads:
            thread.join(LIMIT)
    assert found == [expected] * 3
    assert not wrong and not any(thread.is_alive() for thread in threads)


@needs_fork
def test_fork_inside_work_that_is_shared(expected: dict[str, str]) -> None:
    """A child of a thread that is at work for the pool, whoever's thread that is, has a pool that is free."""
    found: dict[int, Any] = {}
    meet = threading.Barrier(2, timeout=LIMIT)

    def work(start: int, stop: int) -> None:
        thread = threading.get_ident()
        if thread not in found:
            found[thread] = None
            meet.wait()  # caller and worker
            found[thread] = ask("fork")

    sharing.parallel_for(2, 1, work)
    assert list(found.values()) == [expected] * 2


@pytest.mark.parametrize("method", [method for method in METHODS if method != "forkserver"])
def test_pool_of_processes(method: str, expected: dict[str, str]) -> None:
    count = 2 if method == "fork" else 1
    with multiprocessing.get_context(method).Pool(count) as processes:
        members = list(processes._pool)
        try:
            found = processes.map_async(child, range(count), chunksize=1).get(LIMIT + 5)
            processes.close()
            for process in members:
                process.join(LIMIT)
            assert [process.exitcode for process in members] == [0] * count
        finally:
            end(members)
    assert found == [expected] * count
    gone(*(process.pid for process in members))


@needs_fork
def test_executor_of_processes(expected: dict[str, str]) -> None:
    executor = concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork"))
    try:
        futures = [executor.submit(child) for _ in range(2)]
        members = list(executor._processes.values())
        found = [future.result(LIMIT + 5) for future in futures]
    finally:
        members, manager = list(executor._processes.values()), executor._executor_manager_thread  # the latter reaps the former:
        executor.shutdown(wait=False)  # a join of ours beside it may find a process reaped whose exit code is not yet noted
        manager.join(LIMIT)
        codes = [process.exitcode for process in members]
        end(members)
    assert found == [expected] * 2 and codes == [0] * len(members)
    gone(*(process.pid for process in members))


@needs_fork
@pytest.mark.parametrize("persistent", [False, True])
def test_loader(persistent: bool, expected: dict[str, str]) -> None:
    before = {process.pid for process in multiprocessing.active_children()}
    loader: Any = torch.utils.data.DataLoader(process_work.Answers(), batch_size=None, num_workers=2, persistent_workers=persistent,
                                              timeout=LIMIT + 5, multiprocessing_context="fork")
    pids = set()
    for _ in range(2):
        iterator = iter(loader)
        members = [process for process in multiprocessing.active_children() if process.pid not in before]
        pids |= {process.pid for process in members}
        try:
            assert list(iterator) == [expected] * 2
        except BaseException:
            end(members)
            raise
        assert answers() == expected  # while persistent workers wait
    assert len(pids) == (2 if persistent else 4)
    if persistent:
        iterator._shutdown_workers()
    gone(*pids)
