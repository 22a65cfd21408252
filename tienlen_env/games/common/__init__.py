"""Common code of card games: bit operations, cards, the interface of a game. NumPy only."""
