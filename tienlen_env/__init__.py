"""Tien len (Thirteen) for reinforcement learning."""
