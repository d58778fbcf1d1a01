"""Comparison of two models, or of two engines, value by value."""
