"""`python -m torchcompat script.py ...` runs a script that says `import torch`; `python -m torchcompat ops` shows the operations."""

from __future__ import annotations

import os
import sys

USAGE = """usage: python -m torchcompat SCRIPT [ARGUMENTS ...]   run a script that says `import torch`
       python -m torchcompat -m MODULE [ARGUMENTS ...]  the same for a module
       python -m torchcompat -c CODE [ARGUMENTS ...]    the same for a line of code; `-` reads a program
       python -m torchcompat ops [NAME ...]            the status of operations on each executor
       python -m torchcompat status [NAME]             what of torch's names is here, and why the rest is not
       python -m torchcompat stubs [-o FILE]           the operations' type stubs, of the records as they are
       python -m torchcompat --version                 which version this is, and of which torch

After `pip install`, `torchcompat` is short for `python -m torchcompat`."""


def main(arguments: list[str]) -> int:
    """Runs the command line; returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments[0] in ("-V", "--version"):
        from autograd_tape import __version__

        from .version import __version__ as torch_version

        print(f"torchcompat {__version__} (torch {torch_version})")
        return 0
    if arguments[0] == "ops":
        from autograd_tape.functions.status import main as table

        return table(arguments[1:])
    if arguments[0] == "stubs":
        from ._status.stubs import main as stubs

        return stubs(arguments[1:])
    if arguments[0] == "status":
        from ._status.report import main as status

        return status(arguments[1:])
    from ._calls.program import run

    if arguments[0] in ("-c", "-m") and len(arguments) < 2:
        print(USAGE, file=sys.stderr)
        return 2
    if arguments[0] not in ("-", "-c", "-m") and not os.path.exists(arguments[0]):
        print(f"python -m torchcompat: cannot find {arguments[0]!r}; it is neither a script nor one of: ops, status, stubs\n{USAGE}",
              file=sys.stderr)
        return 2
    run(arguments)
    return 0


def console() -> int:
    """The console script `torchcompat`."""
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(console())
