"""torch.utils: data loading, checkpointing, hooks, pytrees. Its modules are imported at first use."""

from .._calls.absent import absent, submodules


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in submodules(__name__):
        raise absent(__name__, name)
    return import_module(f".{name}", __name__)
