"""Tables of measurements: one for each label, a row for each statement and number of threads, a column for each description."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence

from ...._calls.absent import absences as _absences
from .common import Measurement, _log10, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

BEST, GOOD, BAD, VERY_BAD, BOLD, TERMINATE = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    """What is compared for colors."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _colored(text: str, value: float, best: float) -> str:
    if value <= best * 1.01 or value <= best + 100e-9:
        return BEST + BOLD + text + TERMINATE * 2
    if value <= best * 1.1:
        return GOOD + BOLD + text + TERMINATE * 2
    return VERY_BAD + BOLD + text + TERMINATE * 2 if value >= best * 5 else BAD + text + TERMINATE * 2 if value >= best * 2 else text


class Table:
    """The table of one label.

    Raises:
        AssertionError: there are several.
    """

    def __init__(self, results: list[Measurement], colorize: Colorize, trim_significant_figures: bool, highlight_warnings: bool) -> None:
        if len({r.label for r in results}) != 1:
            raise AssertionError("All results must share the same label")
        self.results, self.colorize, self.trim, self.label = results, colorize, trim_significant_figures, results[0].label
        self.highlight = highlight_warnings
        self.time_unit, self.time_scale = select_unit(min([r.median for r in results]))
        self.row_keys = ordered_unique([(r.num_threads, r.env, r.as_row_name) for r in results])
        self.row_keys.sort(key=lambda key: key[:2])
        self.column_keys = ordered_unique([r.description for r in results])
        self.cells = {((r.num_threads, r.env, r.as_row_name), r.description): r for r in results}

    def _columns(self, description: str | None) -> list[str]:
        """The numbers of a column, by row."""
        found = [self.cells.get((key, description)) for key in self.row_keys]
        there = [m for m in found if m is not None]
        leading = [math.ceil(_log10(m.median / self.time_scale)) for m in there]
        decimals = min([max(m.significant_figures - digits, 0) for digits, m in zip(leading, there)]) if self.trim else 1
        length, warns = max(leading) + decimals + (1 if decimals else 0), self.highlight and any([m.has_warnings for m in there])

        def text(m: Measurement | None) -> str:
            if m is None:
                return " " * (max(length, len(f"{1:.{decimals}f}")) + 7 * warns)
            value = m.median / self.time_scale
            value = trim_sigfig(value, m.significant_figures) if self.trim else value
            spread = f" (! {m.iqr / m.median * 100:.0f}%)" if warns and m.has_warnings else ""
            return f"{value:>{max(length, 0)}.{decimals}f}{spread:>{7 if warns else 0}}"

        return [text(m) for m in found]

    def _best(self, row: tuple[int, str | None, str], description: str | None) -> float:
        if self.colorize is Colorize.ROWWISE:
            return min([m.median for (key, _), m in self.cells.items() if key == row])
        return min([m.median for (key, column), m in self.cells.items() if column == description and key[0] == row[0]])

    def _names(self) -> list[str]:
        """The first column: environments where there are several, told where they begin, and rows."""
        envs = {env for _, env, _ in self.row_keys}
        width = max([len(str(env)) for env in envs]) if len(envs) > 1 else 0
        names, before = [], ("", "")
        for threads, env, name in self.row_keys:
            new = len(envs) > 1 and (threads, env) != before
            names.append("  " + (f"({env})" if new else "").ljust(width + 4) + name)
            before = threads, env
        return names

    def render(self) -> str:
        """The table as text."""
        titles: list[str] = ["", *[key for key in self.column_keys]]
        texts: list[Sequence[str]] = [self._names(), *[self._columns(key) for key in self.column_keys]]
        widths = [max([len(title), *map(len, column)]) for title, column in zip(titles, texts)]
        lines = ["  |  ".join([title.center(width) for title, width in zip(titles, widths)])]
        whole, threads = len(lines[0]), -1
        for i, key in enumerate(self.row_keys):
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(whole, "-"))
            cells = [texts[0][i].ljust(widths[0])]
            for description, column, width in zip(self.column_keys, texts[1:], widths[1:]):
                cell, m = column[i].center(width), self.cells.get((key, description))
                colored = m is not None and self.colorize is not Colorize.NONE
                cells.append(_colored(cell, m.median, self._best(key, description)) if colored and m is not None else cell)
            lines.append("  |  ".join(cells))
        told = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        warns = self.highlight and any([r.has_warnings for r in self.results])
        head = f"[{(' ' + (self.label or '') + ' ').center(whole - 2, '-')}]"
        return "\n".join([head, *lines, "", f"Times are in {unit_to_english(self.time_unit)}s ({self.time_unit}).", told if warns else ""])


class Compare:
    """Measurements, shown as tables.

    Raises:
        ValueError: something is no measurement.
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures, self._colorize, self._highlight_warnings = False, Colorize.NONE, False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """More of them."""
        results = list(results)
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Only digits that mean something are shown."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """The best are colored, and the bad, of a column, or of a row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """It is shown where times vary."""
        self._highlight_warnings = True

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            groups.setdefault(m.label, []).append(m)
        return "\n".join([Table(group, self._colorize, self._trim_significant_figures, self._highlight_warnings).render()
                          for group in groups.values()])

    def print(self) -> None:
        """Prints the tables."""
        print(str(self))


_absences(__name__)
