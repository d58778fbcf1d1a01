"""Functions of vectors of floats as LLVM text, for any number of lanes; each says its largest error in ulp.

An ulp is the distance between the floats around the exact result, 2^-149 at least.
"""
