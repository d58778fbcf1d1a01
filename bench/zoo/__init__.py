"""Benchmark networks, built from their architectures with seeded random weights; `catalogue` lists them."""
