"""Environments for PettingZoo, Gymnasium and stable-baselines3. They translate; no rule is in here."""
