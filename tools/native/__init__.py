"""The build of the loops as machine code."""
