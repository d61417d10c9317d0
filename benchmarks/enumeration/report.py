"""The report of an enumeration: geometric means and tails, by family, size, dtype, layout and mode; the slowest; what failed; a plot."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.enumeration.calls import LAYOUTS, MODES, SIZES
from benchmarks.enumeration.entries import DTYPES, Entry
from benchmarks.harness import geometric_mean
from benchmarks.report import machine, quantity
from benchmarks.report import shown as number

Row = dict[str, Any]
TAILS = (1.2, 1.5, 2.0, 3.0)
WANTED = 2.0
"""What no entry is to be above without a reason, the first in `reasons.json` whose pattern is found in family/entry."""


def ratio(row: Row) -> float:
    """Our time by theirs."""
    return float(row["ours"] / row["theirs"])


def share(ratios: Sequence[float], above: float) -> str:
    """How many of them are above a bound.

    >>> share([1.0, 2.0], 1.5)
    '50%'
    """
    return f"{sum([r > above for r in ratios]) / max(1, len(ratios)):.0%}"


def summary(title: str, ratios: Sequence[float]) -> str:
    """A row of a table: how many, geometric mean, tails, the worst."""
    cells = [title, str(len(ratios)), number(geometric_mean(ratios)), *[share(ratios, t) for t in TAILS], number(max(ratios, default=None))]
    return f"| {' | '.join(cells)} |"


def by(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Rows by a key, in its order."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=key):
        found.setdefault(key(row), []).append(row)
    return found


def family_of(row: Row) -> str:
    return str(row["family"])


def kind_of(row: Row) -> str:
    """The first half of a family's name, and the dtype."""
    return f"{row['family'].split('.')[0]}, {Entry.of(row['entry']).dtype}"


def matrix(rows: Sequence[Row], of: Callable[[Entry], str], columns: Sequence[str], down: Callable[[Row], str] = family_of) -> list[str]:
    """A table of geometric means: families down, columns across."""
    lines = [f"| | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for family, members in by(rows, down).items():
        parts = by(members, lambda r: of(Entry.of(r["entry"])))
        lines.append(f"| {family} | {' | '.join([number(geometric_mean([ratio(r) for r in parts.get(c, ())])) for c in columns])} |")
    return lines


def known_reasons() -> dict[str, str]:
    """Why entries are above `WANTED`, by patterns."""
    found: dict[str, str] = json.loads(Path(__file__).with_name("reasons.json").read_text())
    return found


def exceptions(rows: Iterable[Row], again: Iterable[Row], known: dict[str, str]) -> list[str]:
    """A table of the entries above `WANTED`, each with what another measurement says of it and its reason."""
    second = {r["entry"]: ratio(r) for r in again if "ours" in r}
    above = sorted([r for r in rows if ratio(r) > WANTED], key=ratio, reverse=True)
    found = [next((why for pattern, why in known.items() if re.search(pattern, f"{r['family']}/{r['entry']}")), "") for r in above]
    stay = [second.get(r["entry"], ratio(r)) > WANTED for r in above]
    lines = [f"{len(above)} entries; {sum(stay)} of them are so when measured again, "
             f"{sum([not why and s for why, s in zip(found, stay)])} of these for no reason that is known.", "",
             "| entry | ratio | again | reason |", "|---|---:|---:|---|"]
    return lines + [f"| {r['entry']} | {ratio(r):.2f} | {number(second.get(r['entry']))} | {why} |" for r, why in zip(above, found)]


def markdown(rows: Sequence[Row], slowest: int, left_out: dict[str, str], again: Sequence[Row] = ()) -> str:
    """The whole report; `again`: another measurement of some entries, beside those above `WANTED`."""
    timed, void, failed = [[r for r in rows if word in r] for word in ("ours", "void", "failed")]
    tails = " | ".join([f"above {t:g}" for t in TAILS])
    head = [f"| | entries | geometric mean | {tails} | worst |", "|---|" + "---:|" * (3 + len(TAILS))]
    how = sorted({r.get("how", "") for r in rows})
    lines = ["# Enumeration", "", "*ratio* is torchcompat's time divided by torch's, measured in turns; below 1 torchcompat is faster.", "",
             f"- machine: {machine()}; threads and clock: {', '.join(how)}",
             f"- {len(timed)} entries measured, {len(failed)} failed on our side, {len(void)} are no calls of torch's",
             f"- {len({Entry.of(r['entry']).record for r in timed})} operations; {len(left_out)} records have no calls of their own", "",
             *head, summary("**all**", [ratio(r) for r in timed])]
    for key, order in (("mode", MODES), ("dtype", DTYPES), ("size", tuple(SIZES)), ("layout", LAYOUTS)):
        for name in order:
            lines.append(summary(name, [ratio(r) for r in timed if getattr(Entry.of(r["entry"]), key) == name]))
    lines += ["", "## Families", "", *head]
    lines += [summary(family, [ratio(r) for r in part]) for family, part in by(timed, family_of).items()]
    lines += ["", "## Families by dtype", "", *matrix(timed, lambda e: e.dtype, DTYPES)]
    lines += ["", "## Families by size", "", *matrix(timed, lambda e: e.size, tuple(SIZES))]
    lines += ["", "## Kinds by dtype and size", "", *matrix(timed, lambda e: e.size, tuple(SIZES), kind_of)]
    lines += ["", f"## The slowest {slowest}", "", "| entry | call | torchcompat | torch | ratio | noise |",
              "|---|---|---:|---:|---:|---:|"]
    for r in sorted(timed, key=ratio, reverse=True)[:slowest]:
        cells = [r["entry"], r["call"], quantity(r["ours"], "s"), quantity(r["theirs"], "s"), f"{ratio(r):.2f}", f"{r['noise']:.0%}"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", f"## Above {WANTED:g}", "", *exceptions(timed, again, known_reasons())]
    lines += ["", "## Failures", "", *([f"- {r['entry']}: {r['failed']}" for r in failed] or ["None."])]
    reasons = Counter([re.sub(r"[\d., \[\]]+", " ", r["void"])[:80] for r in void])
    lines += ["", "## What is no call", "", *[f"- {count}: {reason}" for reason, count in reasons.most_common(40)]]
    lines += ["", "## Records without calls", "", *[f"- {reason}: {', '.join([n for n, r in left_out.items() if r == reason])}"
                                                   for reason in sorted(set(left_out.values()))]]
    return "\n".join(lines) + "\n"


def plot(rows: Sequence[Row], path: Path) -> None:
    """Ratio against the number of elements, a panel for each family, both logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    families = by([r for r in rows if "ours" in r], family_of)
    across = 6
    down = -(-max(1, len(families)) // across)
    figure, axes = pyplot.subplots(down, across, figsize=(2.3 * across, 1.7 * down), sharex=True, sharey=True, squeeze=False,
                                   layout="constrained")
    for place in axes.flat[len(families):]:
        place.set_axis_off()
    for place, (family, members) in zip(axes.flat, families.items()):
        for mode, colour in zip(MODES, ("tab:blue", "tab:orange")):
            chosen = [r for r in members if r["entry"].endswith("/" + mode)]
            place.plot([max(1, r["elements"]) for r in chosen], [ratio(r) for r in chosen], "o", color=colour, markersize=2.5, alpha=0.5,
                       markeredgewidth=0, label=mode)
        place.axhline(1.0, color="black", linewidth=0.8)
        place.set_xscale("log"), place.set_yscale("log")
        place.set_title(f"{family}: {number(geometric_mean([ratio(r) for r in members]))}", fontsize=8)
        place.tick_params(labelsize=7)
        place.grid(color="0.9", linewidth=0.5)
    axes.flat[0].legend(fontsize=7, frameon=False)
    figure.supxlabel("elements of the largest tensor", fontsize=9), figure.supylabel("torchcompat / torch", fontsize=9)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
