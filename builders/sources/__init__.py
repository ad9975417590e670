"""Where upstream files come from: checked files on disk, and their rows, with errors that name file and row."""
