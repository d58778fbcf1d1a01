"""Checks that a rewritten model computes the same as the original, and bisects to the first wrong edit."""
