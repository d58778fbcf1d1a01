"""The attributes and operands of nodes, checked for kernels."""
