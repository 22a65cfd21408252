"""Whether a game is as `GameDefinition` says: for `register` and `tienlen check-game`."""
