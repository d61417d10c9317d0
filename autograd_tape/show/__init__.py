"""Tapes, entries and graphs as people look at them: text, tables, drawings. Imported when something is first to be shown."""

from __future__ import annotations

from .draw import draw
from .measure import Clock
from .record import record
from .svg import Drawing
from .tables import Row, Summary, Table, entry_html, entry_text, graph_html, summary, tape_html, tape_text

__all__ = ["Clock", "Drawing", "Row", "Summary", "Table", "draw", "entry_html", "entry_text", "graph_html", "record", "summary",
           "tape_html", "tape_text"]
