"""Sessions, which callers open and run."""
