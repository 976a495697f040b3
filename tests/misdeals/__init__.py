"""Tests of irregularities: detection, proposals, rulings and corrections."""
