"""Tuning: what the families of kernels declare, a table for each class of target, and measured peaks."""
