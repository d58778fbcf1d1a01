"""The split of whole graphs into regions, and its verifiers."""
