"""Compilers by name."""
