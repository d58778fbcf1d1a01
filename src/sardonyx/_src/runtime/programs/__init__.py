"""Programs in this process, and the memory of one run."""
