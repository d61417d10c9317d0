"""Linear algebra: products, contractions, factorizations, equations."""
