"""
Simulated readers: shoes dealt by the rules, with faults on request, sent over a real line.

A scenario is pure and determined by its seed; `simulator` writes it to a
line.
"""

import drivers.camera  # noqa: F401 - limits the pictures that OpenCV decodes, before it is loaded
