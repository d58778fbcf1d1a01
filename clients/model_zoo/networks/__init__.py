"""The networks, one file for each family."""
