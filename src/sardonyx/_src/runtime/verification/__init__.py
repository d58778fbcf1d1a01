"""Verification of runs: comparison of the native engine with the reference engine, and location of the step at fault."""
