"""Runs that train a model on data: batches, checkpoints, metrics."""
