"""Small networks as torch exports them and other tools rewrite them, run in many sizes by one session."""
