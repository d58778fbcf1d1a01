"""Settings of a service, and where they come from."""
