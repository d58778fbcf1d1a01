"""Loss functions of training models, one file each."""
