"""torch.utils: data loading, checkpointing, hooks, pytrees. Its modules are imported at first use."""


def __getattr__(name: str) -> object:
    from importlib import import_module
    from importlib.util import find_spec

    if name.startswith("__") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")
    return import_module(f".{name}", __name__)
