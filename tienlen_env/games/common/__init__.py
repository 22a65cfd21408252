"""What card games share: bit operations, cards, the interface of a game. NumPy only."""
