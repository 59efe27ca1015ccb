"""Training: recipes, the loop, validation and checkpoints."""
