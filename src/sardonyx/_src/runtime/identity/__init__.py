"""Identity of models, files and sources: stamps and digests."""
