"""The networks that tasks train, one file each: an encoder and what follows it."""
