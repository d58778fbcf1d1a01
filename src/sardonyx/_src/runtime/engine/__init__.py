"""The native engine, and the programs that sessions share."""
