"""What `import unspool` offers: train, load, compare, check."""
