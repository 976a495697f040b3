"""Commands of an operator: rulings, corrections, entered cards and results, undo."""
