"""Served models: repositories and their files, sessions, queues and batches, states of sequences."""
