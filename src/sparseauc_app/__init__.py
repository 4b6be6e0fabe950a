"""From a file to a short list: reading, fitting, comparing, model files, exports and reports."""
