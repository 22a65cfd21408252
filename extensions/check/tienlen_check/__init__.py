"""Whether a game is as `tienlen_env.games.common.game.Game` says: for `register` and `tienlen check-game`."""
