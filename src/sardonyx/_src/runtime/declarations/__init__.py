"""What models declare of sizes, and how runs are held to it."""
