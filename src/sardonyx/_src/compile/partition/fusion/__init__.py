"""Groups of elementwise nodes: kernels of their own, and epilogues of others."""
