"""The Open Inference Protocol v2 over HTTP: JSON tensors, the binary tensor extension, and the repository extension."""
