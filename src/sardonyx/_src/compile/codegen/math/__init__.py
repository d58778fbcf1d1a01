"""Math library for fp32 vectors (exp, erf, sin, ...), emitted as LLVM text for any number of lanes.

The docstring of each function states its largest error in ulp.  An ulp is the distance between the two floats around
the exact result, and at least 2^-149.
"""
