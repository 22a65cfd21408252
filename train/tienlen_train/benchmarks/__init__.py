"""Measurements of speed, learning and search; each is a command."""
