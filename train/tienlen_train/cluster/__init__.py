"""Training on a Ray cluster: actors play `RolloutJob`s, the trainer's process takes gradient steps.

`link.cluster_executor` plays the rollouts of a trainer whose settings name a cluster. The
modules import ray when they are used; importing this package does not.
"""
