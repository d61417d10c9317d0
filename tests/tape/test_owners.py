"""Whose a recording is: threads, tasks of asyncio, generators, and blocks that end in any order."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from autograd_tape import F, Tape, TensorRef, backward, trace
from autograd_tape.errors import TapeNotRecordingError
from autograd_tape.modes import active_tapes, recordings
from autograd_tape.tape import get_default_tape, set_default_tape
from autograd_tape.tensor import watchers


@pytest.fixture(autouse=True)
def nothing_is_left_recording() -> Iterator[None]:
    before = len(recordings), len(watchers), active_tapes(), get_default_tape()
    yield
    assert (len(recordings), len(watchers), active_tapes(), get_default_tape()) == before


def operation(x: TensorRef) -> Any:
    return x * 2.0


def leaf() -> TensorRef:
    return TensorRef.of([1.0, 2.0], requires_grad=True)


def in_a_thread(function: Callable[[], Any]) -> Any:
    """What `function` returns or raises in another thread."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except Exception as error:  # handed to the caller, who looks at it
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    return found[0]


FOREIGN: dict[str, Callable[[Tape], Any]] = {
    "enter": lambda t: t.__enter__(), "leave": lambda t: t.__exit__(None, None, None), "start": lambda t: t.start_recording(),
    "stop": lambda t: t.stop_recording(), "clear": lambda t: t.clear(),
    "record": lambda t: t.record("neg", [x := leaf()], TensorRef.of(-x.numpy())),
}


class TestThreads:
    @pytest.mark.parametrize("by_block", [True, False])
    @pytest.mark.parametrize("what", FOREIGN)
    def test_another_thread_may_not_touch_a_recording(self, what: str, by_block: bool) -> None:
        tape = Tape()
        tape.__enter__() if by_block else tape.start_recording()
        x = leaf()
        y = operation(x)
        error = in_a_thread(lambda: FOREIGN[what](tape))
        assert isinstance(error, TapeNotRecordingError), error
        z = operation(y)
        tape.__exit__() if by_block else tape.stop_recording()
        assert [e.output for e in tape.entries] == [y, z] and not tape.is_recording

    def test_a_tape_that_does_not_record_may_be_used_by_any_thread(self) -> None:
        tape = Tape()

        def use() -> Any:
            with tape:
                return operation(leaf())

        y = in_a_thread(use)
        assert [e.output for e in tape.entries] == [y] and not tape.is_recording
        with tape:
            operation(leaf())
        assert len(tape) == 2
        assert in_a_thread(tape.clear) is None and len(tape) == 0
        assert isinstance(in_a_thread(lambda: tape.__exit__()), TapeNotRecordingError), "no block is open there"

    def test_operations_of_other_threads_are_their_own(self) -> None:
        tapes = [Tape() for _ in range(8)]
        barrier, made = threading.Barrier(8), {}

        def work(i: int) -> None:
            x = leaf()
            with tapes[i]:
                for _ in range(20):
                    barrier.wait(30)
                    made.setdefault(i, []).append(x := operation(x))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        for i, tape in enumerate(tapes):
            assert [e.output for e in tape.entries] == made[i]
            assert [o.refs[1][0] for o in tape.held.operations] == made[i]

    def test_the_recording_of_a_thread_that_ended_can_be_taken_over(self) -> None:
        tape = Tape()
        in_a_thread(tape.start_recording)
        assert not tape.is_recording
        with tape:
            y = operation(leaf())
        assert [e.output for e in tape.entries] == [y]

    def test_a_trace_is_its_threads_own(self) -> None:
        seen = []

        def f(x: Any) -> Any:
            in_a_thread(lambda: seen.append(float(leaf()[0])))  # no business of the trace's
            return F.sum(x * x)

        t = trace(f, np.array([1.0, 2.0]))
        assert seen == [1.0] and t.refresh_graph_values(np.array([3.0, 0.0])) == 9.0


class TestBlocks:
    @pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
    def test_blocks_end_in_any_order(self, order: tuple[int, ...]) -> None:
        base, tapes = get_default_tape(), [Tape() for _ in range(3)]
        open_ = list(range(3))
        for tape in tapes:
            tape.__enter__()
        expected: list[list[Any]] = [[], [], []]
        for ending in order:
            y = operation(leaf())
            for i in open_:
                expected[i].append(y)
            assert get_default_tape() is tapes[open_[-1]] and set(active_tapes()) == {tapes[i] for i in open_}
            tapes[ending].__exit__()
            open_.remove(ending)
        assert get_default_tape() is base
        operation(leaf())
        assert [[e.output for e in t.entries] for t in tapes] == expected

    @pytest.mark.parametrize("program", list(itertools.product(["enter", "start"], ["enter", "start"], ["raise", "return"])))
    def test_a_thread_may_enter_again(self, program: tuple[str, str, str]) -> None:
        tape, (first, second, end) = Tape(), program
        if first == "start":
            tape.start_recording()
        else:
            tape.__enter__()
        with pytest.raises(ZeroDivisionError) if end == "raise" else nullcontext(), tape:
            if second == "start":
                tape.start_recording()
            inner = operation(leaf())
            if end == "raise":
                raise ZeroDivisionError
        assert tape.is_recording, "the outer one goes on"
        outer = operation(leaf())
        tape.stop_recording() if first == "start" else tape.__exit__()
        operation(leaf())
        assert [e.output for e in tape.entries] == [inner, outer] and not tape.is_recording
        with pytest.raises(TapeNotRecordingError, match="no block of this tape is open here"):
            tape.__exit__()
        tape.stop_recording()  # a second time, which changes nothing

    def test_stopping_inside_a_block_ends_the_recording_and_not_the_block(self) -> None:
        base, tape = get_default_tape(), Tape()
        with tape:
            y = operation(leaf())
            tape.stop_recording()
            operation(leaf())
            assert get_default_tape() is tape
        assert get_default_tape() is base and [e.output for e in tape.entries] == [y]

    def test_a_default_tape_set_inside_a_block_lasts_as_long_as_the_block(self) -> None:
        base, tape, other = get_default_tape(), Tape(), Tape()
        with tape:
            set_default_tape(other)
            assert get_default_tape() is other
        assert get_default_tape() is base

    @pytest.mark.parametrize("steps", list(itertools.product([0, 1], repeat=4)))
    def test_generators_in_turn(self, steps: tuple[int, ...]) -> None:
        base, tapes = get_default_tape(), [Tape(), Tape()]
        made: list[list[Any]] = [[], []]

        def program(i: int) -> Iterator[None]:
            with tapes[i]:
                for _ in range(2):
                    y = operation(leaf())
                    for j in running:
                        made[j].append(y)
                    yield

        running: set[int] = set()
        over: set[int] = set()
        generators = [program(0), program(1)]
        for i in steps:
            running |= {i} - over
            if next(generators[i], "over") == "over":
                over.add(i)
                running -= over
        for generator in generators:
            generator.close()
        assert get_default_tape() is base and active_tapes() == ()
        assert [[e.output for e in tape.entries] for tape in tapes] == made

    def test_a_generator_closed_by_another_thread_is_told(self) -> None:
        tape = Tape()

        def program() -> Iterator[None]:
            with tape:
                yield

        generator = program()
        next(generator)
        error = in_a_thread(generator.close)
        assert isinstance(error, TapeNotRecordingError) and tape.is_recording
        tape.__exit__()


class TestTasks:
    def test_tasks_in_turn_record_their_own(self) -> None:
        async def work(n: int) -> tuple[Tape, list[Any]]:
            made, x = [], leaf()
            with Tape() as tape:
                for _ in range(5):
                    made.append(x := operation(x))
                    await asyncio.sleep(0)
            operation(x)
            return tape, made

        async def main() -> Any:
            return await asyncio.gather(*[work(n) for n in range(4)])

        for tape, made in asyncio.run(main()):
            assert [e.output for e in tape.entries] == made

    def test_a_task_started_in_a_block_is_not_recorded_and_has_its_own_default_tape(self) -> None:
        async def child(tape: Tape) -> Any:
            assert get_default_tape() is not tape and active_tapes() == ()
            x = leaf()
            y = F.sum(x * x)
            await asyncio.sleep(0)
            float(y)
            return backward(y)[x.id]

        async def helper(x: TensorRef) -> TensorRef:
            await asyncio.sleep(0)
            return operation(x)

        async def main() -> None:
            with Tape() as tape:
                task = asyncio.create_task(child(tape))
                y = await helper(leaf())  # awaited, not a task: it is this task's own
                await asyncio.sleep(0)
            late = asyncio.create_task(child(tape))
            np.testing.assert_array_equal(await task, [2.0, 4.0])
            np.testing.assert_array_equal(await late, [2.0, 4.0])
            assert [e.output for e in tape.entries] == [y]

        asyncio.run(main())

    @pytest.mark.parametrize("what", FOREIGN)
    def test_another_task_or_executor_thread_may_not_touch_a_recording(self, what: str) -> None:
        async def main() -> None:
            with Tape() as tape:
                async def foreign() -> None:
                    FOREIGN[what](tape)

                with pytest.raises(TapeNotRecordingError, match="records for another thread or task"):
                    await asyncio.create_task(foreign())
                with pytest.raises(TapeNotRecordingError):
                    await asyncio.to_thread(FOREIGN[what], tape)
                y = operation(leaf())
            assert [e.output for e in tape.entries] == [y] and not tape.is_recording

        asyncio.run(main())

    @pytest.mark.parametrize("order", list(itertools.permutations("aabb", 4))[::3])
    def test_interleavings_of_two_tasks(self, order: tuple[str, ...]) -> None:
        """Each task enters and leaves its block when it is its turn, with an operation before and after."""
        made: dict[str, list[Any]] = {"a": [], "b": []}
        tapes = {"a": Tape(), "b": Tape()}

        async def main() -> None:
            turns = {name: asyncio.Queue[None]() for name in "ab"}
            done: asyncio.Queue[None] = asyncio.Queue()

            async def work(name: str) -> None:
                await turns[name].get()
                with tapes[name]:
                    made[name].append(operation(leaf()))
                    done.put_nowait(None)
                    await turns[name].get()
                    made[name].append(operation(leaf()))
                operation(leaf())
                done.put_nowait(None)

            tasks = [asyncio.create_task(work(name)) for name in "ab"]
            for name in order:
                turns[name].put_nowait(None)
                await done.get()
                operation(leaf())
            await asyncio.gather(*tasks)

        asyncio.run(main())
        assert {name: [e.output for e in tape.entries] for name, tape in tapes.items()} == made

    def test_a_cancelled_task_ends_its_recording(self) -> None:
        tape = Tape()

        async def work() -> None:
            with tape:
                operation(leaf())
                await asyncio.sleep(60)

        async def main() -> None:
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with tape:
                operation(leaf())

        asyncio.run(main())
        assert len(tape) == 2

    def test_a_copied_context_is_the_same_thread(self) -> None:
        with Tape() as tape:
            y = contextvars.copy_context().run(operation, leaf())
        assert [e.output for e in tape.entries] == [y]


def test_a_cleared_tape_keeps_nothing_alive() -> None:
    with Tape() as tape:
        x = leaf()
        y = operation(x)
        mask = y > 0
        y.add_(1.0)
    alive = [weakref.ref(t) for t in (x, y, mask)]
    tape.clear()
    gc.disable()
    try:
        del x, y, mask
        assert [ref() for ref in alive] == [None] * 3
    finally:
        gc.enable()
