"""The batched engine: `Batch` advances B games at once; agents see them through a `View`."""
