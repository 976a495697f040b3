"""The camera profile: its sections, its TOML file and its validation."""
