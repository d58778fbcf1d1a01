"""Lowering: one function for each kind of region (`registry`) turns the laid-out region into steps of a program."""
