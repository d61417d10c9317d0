"""What is in files: the archive, and readers that believe nothing it says."""
