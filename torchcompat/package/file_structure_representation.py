"""The files of a package as a tree."""

from __future__ import annotations

from collections.abc import Iterable

from .glob_group import GlobGroup, GlobPattern

__all__ = ["Directory"]


class Directory:
    """A folder, or a file, of a package.

    Attributes:
        children: what lies in it, by name.
    """

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name, self.is_dir = name, is_dir
        self.children: dict[str, Directory] = {}

    def _add_file(self, file_path: str) -> None:
        *folders, last = file_path.split("/")
        folder = self
        for name in folders:
            folder = folder.children.setdefault(name, Directory(name, True))
        folder.children[last] = Directory(last, False)

    def has_file(self, filename: str) -> bool:
        """Whether there is a file, or folder, of a name, which may have folders in it."""
        first, _, rest = filename.partition("/")
        found = self.children.get(first)
        return found is not None and (not rest or found.has_file(rest))

    def _lines(self, before: str, own: str) -> list[str]:
        children = sorted(self.children.values(), key=lambda child: (not child.is_dir, child.name))
        lines = [f"{before}{own}{self.name}\n"]
        inner = before + ("\u2502   " if own.startswith("\u251c") else "    ")
        for i, child in enumerate(children):
            lines += child._lines(inner, "\u2514\u2500\u2500 " if i == len(children) - 1 else "\u251c\u2500\u2500 ")
        return lines

    def __str__(self) -> str:
        return "".join(self._lines("", "\u2500\u2500\u2500 "))


def _create_directory_from_file_list(filename: str, file_list: Iterable[str], include: GlobPattern = "**", exclude: GlobPattern = ()
                                     ) -> Directory:
    """The tree of those files whose paths fit the patterns."""
    wanted, top = GlobGroup(include, exclude=exclude, separator="/"), Directory(filename, True)
    for path in file_list:
        if wanted.matches(path):
            top._add_file(path)
    return top
