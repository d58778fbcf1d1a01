"""Libraries of compiled kernels: which kernels they have, and how they are built."""
