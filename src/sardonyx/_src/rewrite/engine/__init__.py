"""The rewriting engine: pattern matching, checked edits, inferred facts, and the driver that runs passes."""
