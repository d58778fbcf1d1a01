"""Verifiers of programs, and the judge of equal sizes."""
