"""Detection of a card in a frame, and recognition of its rank and suit."""
