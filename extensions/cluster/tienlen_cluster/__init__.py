"""Matches and training on several machines, by Ray."""
