"""Runs of native programs: execution contexts, profiles, and runs action by action."""
