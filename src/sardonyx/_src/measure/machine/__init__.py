"""What this machine is, what it reaches, and what is unusual about it: `sardonyx doctor`."""
