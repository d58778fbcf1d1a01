"""Scoring of tables: runs a model on the rows of files, streams and data frames, and returns its outputs as columns."""
