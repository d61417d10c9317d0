"""Elements along dimensions are taken together: summed, compared, counted, put in order."""
