"""Tests of the pages in a real browser, from the shoe's bytes to what is painted."""
