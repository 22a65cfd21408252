"""Matches and training on several machines, by Ray."""

from tienlen_cluster.pool import connect as connect
