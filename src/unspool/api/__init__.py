"""Public Python API: train, load, compare, check."""
