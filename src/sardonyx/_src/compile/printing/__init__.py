"""Printers of the stages of compilation, for `run --show` and profiles; one module for each stage."""
