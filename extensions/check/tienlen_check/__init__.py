"""Checks of games and programs from outside, for `register`, `tienlen check-game` and `tienlen protocol`."""
