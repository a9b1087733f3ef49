"""Caption: images, and whatever else has steps, to texts that describe them."""
