"""Tables: files, folders, streams and data frames, as record batches in a fixed order, or as arrays by column."""
