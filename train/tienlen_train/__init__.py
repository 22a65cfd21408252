"""Training: one module per algorithm, run as ``tienlen train <name>``."""
