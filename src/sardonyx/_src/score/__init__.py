"""Scoring of tables: rows of files, streams and data frames through a model, into columns."""
