"""Training models made from inference models."""
