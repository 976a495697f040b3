"""The whole daemon, killed and cut off at any moment: `make chaos` at full length."""
