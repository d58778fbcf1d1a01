"""Where buffers lie, and the order of steps that needs less memory."""
