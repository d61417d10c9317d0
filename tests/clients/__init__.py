"""Clients: packages that need torch, used as their users do, on torch and here.

A client is a file of `programs`, which says `import torch` and knows nothing of tests::

    \"\"\"Rearrangements by name, and their gradients.\"\"\"     # what the page of compatibility says was run
    PACKAGES = ("einops",)                                  # the distributions it needs, the one it is about first
    CASES = {"rearranged": function, ...}                   # each gives tensors, or what JSON holds

and may say `CLOSE`, by how much numbers may differ (of the largest beside them, and of 0.01 at least; or a table of that by the keys of
what cases give), and `IN_SUITE`, the cases that are quick enough for the tests. To add one, write the file, then::

    python -m tests.clients record NAME         # with a python that has torch: what it gives there, in `recorded`
    python -m tests.clients report NAME         # with one that has the packages and no torch: adds what we give, writes the page

All are recorded with one thread. What is known to differ is kept in the recording, and the tests hold it to that.
"""
