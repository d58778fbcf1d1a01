"""Fallback operations: nodes that reference kernels compute inside a native run."""
