"""`shoe-daemon rules`: houses, odds and policies."""
