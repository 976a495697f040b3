"""What goes wrong at a table, what the house's procedure says, and what a person decides."""
