"""Tests of what builds and checks the project."""
