"""The games: one folder each, what they share in `common`, and the registry that lists them.

A game never imports another one.
"""
