"""Tests of drivers/angel_eye_ii."""
