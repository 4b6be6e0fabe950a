"""Helpers of several rooms: text, files, types, compiled kernels, tensors, optional packages."""
