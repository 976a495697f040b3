"""The tests, by room; what spans rooms lies here."""
