"""Tests of the table: observations in, events out."""
