"""Declared sizes: the sizes that a model states for its values, and their comparison with those of runs."""
