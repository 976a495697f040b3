"""Tests of the demo: the view as a pure function, and the whole as a person starts it."""
