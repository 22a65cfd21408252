"""Training on a Ray cluster: actors play `RolloutJob`s, the trainer's process takes gradient steps.

`link.linked` connects a trainer; the training loop calls it if the settings name a cluster. The
modules import ray when they are used; importing this package does not.
"""
