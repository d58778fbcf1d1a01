"""Limits of runs: memory, time, processors and threads."""
