"""Mutation tests: whether a change of one comparison, constant or statement makes a test fail."""
