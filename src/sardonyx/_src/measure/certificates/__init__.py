"""Certificates of runs: digests of a model, its inputs and its outputs, which another machine can verify."""
