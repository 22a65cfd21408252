"""The network that is trained: the torch module of `tienlen_agents.device.network`."""

from tienlen_agents.device.network import (
    ActionNetwork,
    aligned,
    as_bfloat16,
    pad_rows,
    repeat_rows,
    segment_log_softmax,
    segment_sum,
    wide_linear,
)

__all__ = [
    "ActionNetwork",
    "aligned",
    "as_bfloat16",
    "pad_rows",
    "repeat_rows",
    "segment_log_softmax",
    "segment_sum",
    "wide_linear",
]
