"""Making of training models from inference models."""
