"""Training: one readable script per algorithm, run as `python -m train.<name>`."""
