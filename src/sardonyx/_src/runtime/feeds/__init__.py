"""Feeds of runs: arrays, tables and tensors of other libraries."""
