"""Random numbers equal to torch's on the CPU: the same seed gives the same numbers, for every distribution."""

from .generator import DEFAULT_SEED, Generator, default_generator

__all__ = ["DEFAULT_SEED", "Generator", "default_generator"]
