"""What a step of a program would take on a mesh of any size: memory of a device, bytes and messages, time. Nothing is computed for it.

The time is that of a model: an operation takes as long as its multiplications or its memory, whichever is longer, and a time of its own;
a collective takes a time to begin, and one for its bytes. No collective is hidden behind operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dataclasses import dataclass, replace

from ..annotations import Fn
from ..errors import ArgumentError
from ..show.tables import Table
from ..show.text import plural, size_text, time_text
from .array import Collective
from .costs import seconds
from .mesh import Mesh
from .plot import Line, Panel, Plot
from .rehearsal import Rehearsal, rehearse

@dataclass(frozen=True, slots=True)
class Machine:
    """What devices do.

    Attributes:
        flops: multiplications and additions in a second.
        bandwidth: bytes that operations read and write in a second.
        call: seconds that an operation takes whatever its size.
        collective: seconds of a collective, of (kind, devices in a group, bytes that each sends).
    """

    flops: float
    bandwidth: float
    call: float
    collective: Callable[[str, int, float], float] = seconds

    def network(self, latency: float, bandwidth: float) -> Machine:
        """The same devices in a network: seconds of a message, and bytes in a second.

        >>> HERE.network(1e-6, 1e9).collective("all_gather", 3, 1e9)
        1.000002
        """
        return replace(self, collective=lambda kind, size, bytes: messages(kind, size) * latency + bytes / bandwidth)


HERE = Machine(4e10, 6e9, 280e-6)
"""The processor that constants were measured on, by `benchmarks/sharding_model.py` and `benchmarks/collectives.py`: one core for a device,
and processes of one machine."""


def messages(kind: str, group_size: int) -> int:
    """How many messages each device sends: those of a ring.

    >>> messages("all_gather", 4), messages("all_reduce", 4)
    (3, 6)
    """
    return (group_size - 1) * (2 if kind == "all_reduce" else 1)


@dataclass(frozen=True, slots=True)
class Moved:
    """Collectives of one kind over the same axes.

    Attributes:
        count: how many there are.
        bytes, messages: what each device sends in all.
        seconds: how long they take in all.
    """

    kind: str
    axes: tuple[str, ...]
    count: int
    bytes: float
    messages: int
    seconds: float


@dataclass(frozen=True, repr=False, slots=True)
class Estimate:
    """What a step takes of each device: `str` of it is text, Jupyter shows HTML.

    Attributes:
        mesh: the mesh.
        parameters, inputs, gradients, saved: bytes of what requires grad, of other inputs, of gradients, and of what the forward pass
            keeps for the backward pass besides these.
        peak: the most bytes that are held at a time.
        flops: multiplications and additions.
        compute: seconds that operations take.
        moved: collectives, by kind and axes.
    """

    mesh: Mesh
    parameters: int
    inputs: int
    gradients: int
    saved: int
    peak: int
    flops: float
    compute: float
    moved: tuple[Moved, ...]

    @property
    def communication(self) -> float:
        """Seconds that collectives take."""
        return sum([m.seconds for m in self.moved])

    @property
    def seconds(self) -> float:
        """Seconds of a step: no collective is hidden behind operations."""
        return self.compute + self.communication

    def tables(self) -> tuple[Table, Table]:
        """Memory and time, and what is moved."""
        rows = [[name, size_text(n)] for name, n in (
            ("parameters", self.parameters), ("inputs", self.inputs), ("gradients", self.gradients), ("saved for backward", self.saved),
            ("peak", self.peak))]
        rows += [[name, time_text(t)] for name, t in (("operations", self.compute), ("collectives", self.communication),
                                                      ("step", self.seconds))]
        held = Table(f"{repr(self.mesh)}: {plural(self.mesh.size, 'device')}, of each", ["what", "amount:"], rows)
        sent = [[m.kind, ", ".join(m.axes), str(m.count), size_text(round(m.bytes)), str(m.messages), time_text(m.seconds)]
                for m in self.moved]
        total = ["total", "", str(sum([m.count for m in self.moved])), size_text(round(sum([m.bytes for m in self.moved]))),
                 str(sum([m.messages for m in self.moved])), time_text(self.communication)]
        return held, Table("collectives", ["kind", "over", "count:", "sent:", "messages:", "time:"], [*sent, total])

    def __str__(self) -> str:
        return "\n\n".join([table.text() for table in self.tables()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join([table.html() for table in self.tables()])


def plan(function: Fn, mesh: Mesh | Mapping[str, int], in_shardings: Sequence[Any] | None = None,
         inputs: Sequence[str] | None = None, *, params: Mapping[str, Any] | None = None, wrt: Sequence[int] | None = None,
         backward: bool = True, machine: Machine | None = None) -> Estimate:
    """What a step of a program, forward and back, takes of each device of a mesh.

    Args:
        function, mesh, in_shardings, inputs, params, wrt: see `rehearse`.
        backward: go back from the results that require grad.
        machine: what devices do: `HERE` where left out.

    >>> from autograd_tape import F
    >>> found = plan(lambda x, w: F.sum(F.relu(x @ w)), {"dp": 64}, [("dp", None), None], [(640, 32), (32, 8)], wrt=[1])
    >>> found.parameters, found.inputs, found.gradients, [(m.kind, m.axes, m.messages) for m in found.moved]
    (1024, 1280, 1024, [('all_reduce', ('dp',), 126)])
    """
    return estimate(rehearse(function, mesh, in_shardings, inputs, params=params, wrt=wrt, back=backward), machine)


def estimate(found: Rehearsal, machine: Machine | None = None) -> Estimate:
    """What a program that was rehearsed takes."""
    machine = machine or HERE
    groups: dict[tuple[str, tuple[str, ...]], list[Collective]] = {}
    for event in found.events:
        if isinstance(event, Collective) and found.mesh.count(event.axes) > 1:
            groups.setdefault((event.kind, event.axes), []).append(event)
    moved = []
    for (kind, axes), some in groups.items():
        size = found.mesh.count(axes)
        moved.append(Moved(kind, axes, len(some), sum([c.bytes for c in some]), len(some) * messages(kind, size),
                           sum([machine.collective(kind, size, c.bytes) for c in some])))
    done = found.ledger
    return Estimate(found.mesh, found.parameters, found.inputs, found.gradients, found.saved, done.peak, done.flops,
                    done.time(machine.flops, machine.bandwidth, machine.call), tuple(moved))


def sweep(function: Fn, mesh: Mesh | Mapping[str, int], devices: int, *args: Any, **kwargs: Any) -> list[Estimate]:
    """`plan` of the same program on 1, 2, 4, ... up to `devices` devices. The last axes have the sizes they have in `mesh`, as far as
    there are devices, and the first one the rest.

    >>> from autograd_tape import F
    >>> found = sweep(lambda x: F.sum(x * x), {"dp": 8, "tp": 4}, 16, [("dp", "tp")], [(64, 64)])
    >>> [e.mesh for e in found]
    [Mesh(dp=1, tp=1), Mesh(dp=1, tp=2), Mesh(dp=1, tp=4), Mesh(dp=2, tp=4), Mesh(dp=4, tp=4)]
    """
    axes = dict(mesh.axes if isinstance(mesh, Mesh) else mesh)
    if not isinstance(devices, int) or devices < 1:
        raise ArgumentError("A sweep goes up to a number of devices", expected="an int of 1 or more", found=repr(devices),
                            remedy="pass the largest number of devices")
    first, *others = axes
    found, count = [], 1
    while count <= devices:
        left, sizes = count, {}
        for name in reversed(others):
            sizes[name] = next(n for n in range(min(axes[name], left), 0, -1) if left % n == 0 and axes[name] % n == 0)
            left //= sizes[name]
        sizes[first] = left
        found.append(plan(function, {name: sizes[name] for name in axes}, *args, **kwargs))
        count *= 2
    return found


def plot(estimates: Sequence[Estimate]) -> Plot:
    """Time per step and memory per device against the number of devices."""
    sizes = [float(e.mesh.size) for e in estimates]

    def line(name: str, values: Sequence[float]) -> Line:
        return Line(name, tuple(zip(sizes, values)))

    return Plot((
        Panel("time per step", time_text, (line("step", [e.seconds for e in estimates]), line("operations", [e.compute for e in estimates]),
                                           line("collectives", [e.communication for e in estimates]))),
        Panel("memory per device", lambda n: size_text(round(n)), (
            line("peak", [e.peak for e in estimates]), line("parameters", [e.parameters for e in estimates]),
            line("gradients", [e.gradients for e in estimates]), line("saved", [e.saved for e in estimates])))), "devices")


__all__ = ["HERE", "Estimate", "Machine", "Moved", "estimate", "messages", "plan", "plot", "sweep"]
