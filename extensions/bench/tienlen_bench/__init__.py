"""Measurements of the environments and of the first start."""
