"""Lowerings: a file an operator or a family of them, found by `registry.facet_of`."""
