"""What the journal promises."""
