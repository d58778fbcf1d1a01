"""Math library for fp32 vectors (exp, erf, sin, ...), emitted as LLVM text for any number of lanes.

The docstring of each function states its largest error in ulp, the distance between the two floats around the exact
result, at least 2^-149.
"""
