"""Errors of the exact laboratory."""

from tienlen_env.errors import TienLenError


class GameTooLargeError(TienLenError):
    """A game whose tree does not fit; the message has the numbers."""


class PolicyError(TienLenError):
    """Probabilities that are not a policy of a game, or an agent whose answers are not one."""


class PositionError(TienLenError):
    """A position that no deal leads to."""
