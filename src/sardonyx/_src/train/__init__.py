"""Execution of training information."""
