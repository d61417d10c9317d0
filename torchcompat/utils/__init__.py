"""torch.utils: hooks, data loading, and what else torch keeps here; submodules are imported when asked for."""
