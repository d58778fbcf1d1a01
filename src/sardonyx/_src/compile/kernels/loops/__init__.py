"""Loop nests that kernels of all families share: vectors, axes, strides and rows, and memory."""
