"""Where results and rejected rows are written."""
