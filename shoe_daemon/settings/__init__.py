"""What all configurations share: TOML to types, the files that they name, and their errors."""
