"""Every operation at many sizes, dtypes and layouts, against torch: what the hand-written workloads do not name.

Run from the repository root::

    python -m benchmarks enumerate --torch-python PATH                              # 20 minutes; again: goes on where it stopped
    python -m benchmarks enumerate --torch-python PATH --only 'reductions|softmax' --sizes 10^6 --dtypes bfloat16
    python -m benchmarks enumerate --torch-python PATH --again enumeration.jsonl --above 1.5 --file again.jsonl
    python -m benchmarks enumerate --report                                         # of what the file has
    python -m benchmarks enumerate --report --again again.jsonl                     # with the second measurement of the slow ones

What is measured
    An entry is a call: a sample of an operation's record, with its tensors scaled to a size, in a dtype and a layout, forward, forward and
    backward, or in place (`entries.py`). Which sizes of a sample grow together is found by trying on torch's side (`calls.py`); there, too,
    an entry whose call would take more than `calls.LIMIT` seconds stays at the largest size that does not. Entries come in an order that is
    random and the same in every run, every operation once before any comes twice: each beginning of it is a fair sample.

How
    Both sides prepare the call (results must have the same shapes and dtypes), warm up, and count how many calls fill a sample. Then they
    take turns, and the best sample of each counts; where the ratio comes near the bounds that are counted, they take more turns. What torch
    refuses is no entry; what our side alone refuses is a failure, with its reason. Rows are appended to a file of JSON lines as they come.
    On a machine that others use: `--threads 1 --clock cpu`.
"""
