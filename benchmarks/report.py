"""The Markdown report and the plot of a run."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.harness import Result, geometric_mean

VECTOR_FLAGS = {"avx2": "AVX2", "avx512f": "AVX-512", "amx_tile": "AMX", "asimd": "NEON", "sve": "SVE"}
DISTURBED = 0.3  # noise above which a single ratio says little
TICKS = tuple(factor * 10.0**power for power in range(-3, 5) for factor in (1, 2, 5))
INTRODUCTION = """# Benchmarks

*ratio* is torchcompat's time or memory divided by {theirs} in the same run; below 1 torchcompat is faster or smaller.
*noise* is the distance of the median round from the best one, on the worse side. `benchmarks/__init__.py` says how the
numbers are made.
"""


def machine() -> str:
    """Architecture, number of CPUs and vector extensions; nothing that names the host."""
    flags: set[str] = set()
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.lower().startswith(("flags", "features")):
                    flags = set(line.split(":", 1)[1].split())
                    break
    except OSError:
        pass  # not Linux: the flags stay unknown
    extensions = [label for flag, label in VECTOR_FLAGS.items() if flag in flags]
    return ", ".join([platform.system(), platform.machine(), f"{os.cpu_count()} CPUs", *extensions])


def quantity(value: float, unit: str) -> str:
    """A value in a readable unit.

    >>> quantity(0.0000123, "s"), quantity(0.25, "s"), quantity(31.24, "MiB")
    ('12.3 us', '250 ms', '31.2 MiB')
    """
    if unit != "s":
        return f"{value:.1f} MiB"
    for scale, label in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if value >= scale:
            return f"{value / scale:.3g} {label}"
    return f"{value:.3g} s"


def side_cell(times: Sequence[float], failure: str | None, unit: str) -> str:
    if failure is not None:
        return "**failed**"
    return quantity(max(times) if unit == "MiB growth" else min(times), unit) if times else "–"


def shown(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}"


def times_quiet(result: Result, quiet: Result) -> tuple[float | None, float | None]:
    """How many times the quiet call's a call costs on each side; None where it was not timed."""
    if result.failures or quiet.failures:
        return None, None
    ours, theirs = [min(times) / min(alone) if times and alone and min(alone) > 0 else None
                    for times, alone in ((result.ours, quiet.ours), (result.theirs, quiet.theirs))]
    return ours, theirs


def _against_quiet(results: Sequence[Result], other: str) -> list[str]:
    """The means of what listeners and tapes cost, in times of the calls of the group's section `quiet`."""
    quiet = {(r.group, r.name): r for r in results if r.section == "quiet"}
    lines = []
    for (group, section), members in by_section(results).items():
        pairs = [(r, quiet[group, r.name]) for r in members if (group, r.name) in quiet]
        if section == "quiet" or not pairs:
            continue
        cells = [f"{group}: {section}"]
        for times in zip(*[times_quiet(r, alone) for r, alone in pairs]):
            worst = max([(t, r.name) for t, (r, _) in zip(times, pairs) if t is not None], default=None)
            cells += [shown(geometric_mean(times)), "–" if worst is None else f"{worst[0]:.1f} ({_cell(worst[1])})"]
        lines.append(f"| {' | '.join(cells)} |")
    head = ["", "## Times the quiet call", "", f"| | torchcompat | worst | {other} | worst |", "|---|---:|---:|---:|---:|"]
    return head + lines if lines else []


def by_section(results: Sequence[Result]) -> dict[tuple[str, str], list[Result]]:
    sections: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        sections.setdefault((result.group, result.section), []).append(result)
    return sections


def load() -> float:
    """How busy the machine is: processes that want to run (averaged over a minute) per CPU; nan where nobody knows."""
    return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else float("nan")


def markdown(
    results: Sequence[Result], facts: dict[str, dict[str, Any]], command: str, rounds: int, busy: float, plot: bool,
    other: str = "torch",
) -> str:
    """The whole report: machine, geometric means, failures, one table per section; ``busy`` is the load at the start.

    ``other`` is what the second side is called: torch, or an earlier state of torchcompat.
    """
    lines = [INTRODUCTION.format(theirs="torch's" if other == "torch" else f"that of the state {other}")]
    lines += [
        f"- date: {date.today().isoformat()}",
        f"- command: `{command}` ({rounds} rounds)",
        f"- machine: {machine()}; load per CPU at the start {busy:.2f}",
    ]
    for side, fact in facts.items():
        lines.append(f"- {side if side != 'torch' else other} {fact['version']}: Python {fact['python']}, NumPy {fact['numpy']}")
    disturbed = sum(r.noise > DISTURBED for r in results)
    lines.append(f"- disturbed: the noise of {disturbed} of {len(results)} workloads is above {DISTURBED:.0%}")
    if "torch" in facts:
        lines += [
            "",
            "## Geometric means",
            "",
            "| group | section | workloads | failed | geometric mean of ratios | worst |",
        ]
        lines.append("|---|---|---:|---:|---:|---:|")
        groups: dict[str, list[Result]] = {}
        for (group, section), members in by_section(results).items():
            groups.setdefault(group, []).extend(members)
            lines.append(_mean_row(group, section, members))
        lines += [_mean_row(f"**{group}**", "**all**", members) for group, members in groups.items()]
    lines += _against_quiet(results, other)
    if plot:
        lines += ["", "![ratios by section](results.png)"]
    failed = [result for result in results if result.failures]
    lines += ["", "## Failures", ""]
    lines += ["None."] if not failed else ["| workload | side | error |", "|---|---|---|"]
    for result in failed:
        for side, error in result.failures.items():
            lines.append(f"| {result.group}/{result.section}/{_cell(result.name)} | {side} | {_cell(error)} |")
    for (group, section), members in by_section(results).items():
        lines += [
            "",
            f"## {group}: {section}",
            "",
            f"| workload | torchcompat | {other} | ratio | noise |",
            "|---|---:|---:|---:|---:|",
        ]
        for r in members:
            ours = side_cell(r.ours, r.failures.get("torchcompat"), r.unit)
            theirs = side_cell(r.theirs, r.failures.get("torch"), r.unit)
            # growth is a difference near zero: neither a ratio nor a relative noise says anything
            growth = r.unit == "MiB growth"
            ratio, noise = ("–", "–") if growth else (shown(r.ratio), f"{r.noise:.0%}")
            lines.append(f"| {_cell(r.name)} | {ours} | {theirs} | {ratio} | {noise} |")
    return "\n".join(lines) + "\n"


def _mean_row(group: str, section: str, members: Sequence[Result]) -> str:
    ratios = [r.ratio for r in members if r.unit != "MiB growth"]
    worst = max((ratio for ratio in ratios if ratio is not None), default=None)
    failed = sum(bool(r.failures) for r in members)
    return f"| {group} | {section} | {len(members)} | {failed} | {shown(geometric_mean(ratios))} | {shown(worst)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def read(text: str) -> dict[tuple[str, str], list[float]]:
    """The ratios that a report's tables show, by group and section; of failures and of growth there are none.

    >>> read("## small: forward\\n| workload | torchcompat | torch | ratio | noise |\\n|---|---|\\n| a + b | 1 us | 2 us | 0.50 | 3% |")
    {('small', 'forward'): [0.5]}
    """
    found: dict[tuple[str, str], list[float]] = {}
    for part in text.split("\n## ")[int(not text.startswith("## ")):]:
        title, *lines = part.removeprefix("## ").splitlines()
        group, colon, section = title.partition(": ")
        rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("|")]
        if colon and rows and rows[0][0].strip() == "workload":
            ratios = [float(row[3]) for row in rows[2:] if row[3].strip() != "–"]
            found.update({(group, section): ratios} if ratios else {})
    return found


def plot(rows: Mapping[tuple[str, str], Sequence[float]], path: Path, other: str = "torch") -> None:
    """One dot per workload and a bar at the geometric mean, by section, on a logarithmic axis; `rows` are the ratios of each."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    means = {key: mean for key, ratios in rows.items() if (mean := geometric_mean(ratios)) is not None}
    figure, axes = pyplot.subplots(figsize=(9, 1.1 + 0.27 * len(means)), layout="constrained")
    heights, height, before = [], 0.0, ""
    for group, _ in means:  # from the top down, groups apart
        height -= 1.0 + 0.5 * (before not in ("", group))
        before = group
        heights.append(height)
    for (key, mean), height in zip(means.items(), heights):
        color = "tab:green" if mean <= 1 else "tab:red"
        axes.barh(height, mean - 1.0, left=1.0, height=0.62, color=color, alpha=0.35)
        axes.plot(rows[key], [height] * len(rows[key]), "o", color="black", markersize=3, alpha=0.35, markeredgewidth=0)
        axes.annotate(f"{mean:.2f}", (1.0, height), xycoords=axes.get_yaxis_transform(), xytext=(4, 0), textcoords="offset points",
                      va="center", fontsize=9, color=color, weight="bold", annotation_clip=False)
    axes.set_yticks(heights, [f"{group}: {section}" if group != section else group for group, section in means], fontsize=9)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_ylim(min(heights) - 0.7, max(heights) + 0.7)
    reached = [1.0, *(ratio for ratios in rows.values() for ratio in ratios)]
    axes.set_xlim(min(reached) / 1.2, max(reached) * 1.2)
    shown_ticks = [tick for tick in TICKS if min(reached) / 1.2 <= tick <= max(reached) * 1.2]
    axes.set_xticks(shown_ticks, [f"{tick:g}" for tick in shown_ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"torchcompat / {other}: left of 1 torchcompat is faster, or smaller.\n"
                    "Dots are workloads, bars and numbers geometric means.", fontsize=9)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
