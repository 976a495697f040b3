"""The two stations: a camera above the layout, and a camera at the shoe's throat."""
