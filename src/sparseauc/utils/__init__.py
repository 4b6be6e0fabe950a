"""What several rooms need: text, files, types, compiled kernels, tensors, optional packages."""
