"""The game itself: cards, rules, action table, state, kernels, observation, notation. NumPy only."""
