"""From batches to weights: optimiser, loop, checkpoints, the run folder."""
