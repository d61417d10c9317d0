"""Elements are made, moved or picked, and none is computed."""
