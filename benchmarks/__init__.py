"""Benchmarks of torchcompat against PyTorch, both measured in one run.

Run from the repository root::

    python -m benchmarks                                   # absolute times of torchcompat only
    python -m benchmarks --torch-python PATH               # PATH: a python that can import real torch
    python -m benchmarks --torch-python PATH --groups small,steps --rounds 7 --filter softmax
    python -m benchmarks --before ROOT --groups small      # against a checkout of an earlier state instead of torch
    python -m benchmarks --torch-python PATH --check-only  # run each workload once, compare the results
    python -m benchmarks enumerate --torch-python PATH     # every operation at many sizes, see benchmarks/enumeration
    python -m benchmarks --plot                            # draw results.png anew from RESULTS.md

How the numbers are made
    Every workload is written once against the torch API, ``def workload(torch) -> callable``, and runs in two persistent
    worker processes, one per side, that never share an interpreter or an environment.  A round visits every workload and
    times it in one worker and then in the other; the order alternates from round to round.  Loop counts are calibrated
    per side, the cyclic garbage collector is off while the clock runs, both sides use two threads, and the time of a
    workload is the minimum over all samples of all rounds (the least disturbed one).  ``noise`` says how far the median of
    the rounds lies above that minimum, on the worse side: distrust ratios whose noise is of the size of their difference.

How to read them
    *ratio* is torchcompat's time (or memory) divided by torch's in the same run: below 1 torchcompat is faster.  Absolute
    times depend on the machine and its load, ratios much less.  Before anything is timed the first result of both sides is
    compared; a workload that raises, dies, times out or computes something else on one side is listed with its error.

Groups
    ``small``    overhead of single operations, views, modules and backward on tensors of 10 to 100 elements
    ``layers``   layers as they are served, a sample at a time, and their training; cells in loops; optimizers of many small parameters
    ``listening``  small calls while somebody listens: their times, and how many times the quiet call's that is, on both sides
    ``tape``     operations on an explicit tape, in times of the quiet call too; transforms; traces that run again. torch's side does what
                 its users do instead: it records anyway, and calls the function again
    ``kernels``  single operations at BERT-base and CNN sizes
    ``optimizers`` steps of every optimizer, clipping, averages and lists, for four parameters, sixty and a big one; schedulers
    ``steps``    whole training steps, forward to optimizer; recurrent inference; epochs of data loaders
    ``recurrent`` recurrent networks and cells over lengths, widths, layers and directions
    ``clients``  models of transformers that generate and train; only where it is asked for, and installed on both sides
    ``import``   fresh-process import time
    ``memory``   resident memory after import, in a training loop, and growth of an evaluation loop without ``no_grad``

A full run against torch rewrites ``benchmarks/RESULTS.md`` and ``benchmarks/results.png``; a partial run prints the same
Markdown and writes only where ``--output`` says.  So does a run that began on a busy machine, where threads that wait for
each other lose whole time slices: its ratios, mostly torch's side, are not worth keeping.  Timings never decide a test.

Adding a workload: put a function under ``@workload(group, section, name)`` in the fitting file of ``benchmarks/workloads``.
It builds its inputs and returns a callable without arguments; what the callable returns (tensors, or a tuple of them) is
what the two sides are compared by.
"""
