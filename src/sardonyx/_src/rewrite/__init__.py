"""Models made smaller and faster: an engine and a folder of passes."""
