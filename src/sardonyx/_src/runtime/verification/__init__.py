"""Verification of runs: the reference engine beside the native one, and the step at fault where they differ."""
