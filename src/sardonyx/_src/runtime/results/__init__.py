"""Results of runs: output arrays, and what models declare of them."""
