"""Training is the package `tienlen_train`, in this folder; this file only says so.

No wheel contains it: a top-level ``train`` would collide with another distribution's.
"""

raise ImportError(
    "the package 'train' is now 'tienlen_train': import tienlen_train; "
    "'python -m train.ppo' is now 'python -m tienlen_train.ppo'"
)
