"""Agents that play, and the arena that compares them."""
