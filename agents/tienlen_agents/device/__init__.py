"""Agents and rounds on a device: everything is a torch tensor there, and the games' rows are as well.

`machine` runs the bodies of `tienlen_agents.parallel` on tensors, `rounds` plays a batch whose rows are
there, `network` is the network as a torch module, `players` are the agents, and `arena` is an executor of the
arena. With ``torch.device("cpu")`` the same code runs on the processor, which is how it is tested without a
device.
"""
