"""Policy networks as players, their input features, and the weights that are shipped."""
