"""Tables to score: files, folders, streams and data frames, as record batches in a fixed order."""
