"""What kernels read and write: strided views over buffers, their layouts, packed constants and windows."""
