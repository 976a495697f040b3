"""
Simulated shoes: they deal by the rules, speak a real protocol over a real line,
and go wrong on demand.

A scenario is pure and follows from its seed; a player writes it to a line.
"""
