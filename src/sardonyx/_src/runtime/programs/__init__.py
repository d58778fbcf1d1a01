"""Programs that are loaded into this process, and the memory of one run."""
