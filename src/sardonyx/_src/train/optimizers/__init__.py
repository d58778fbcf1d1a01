"""Optimizers of training models, one file each, and their schedules."""
