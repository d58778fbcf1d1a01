"""Programs as i64 slots, and their sizes as native code."""
