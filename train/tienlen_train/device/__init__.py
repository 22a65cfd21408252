"""Training on a device: rollouts, trajectories and minibatches as torch tensors that stay there.

`rollout` plays what `tienlen_train.rollout` plays on the processor, `trajectories` is the source of its
minibatches. The algorithms' losses and the learner are the same in both places.
"""
