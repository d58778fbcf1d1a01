"""Settings of a service, its configuration file, and its logs."""
