"""
Benches: what measures speed, memory and start-up, each against something else
that is measured in the same run.
"""
