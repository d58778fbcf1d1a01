"""Reverse-mode differentiation of models."""
