"""Thirteens, the trick-taking game: rules, state, kernels, observation. NumPy only (RULES.md 8)."""
