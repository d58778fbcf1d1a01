"""Gradient facets, one file for an operator or a family of them."""
