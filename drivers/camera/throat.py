"""
The station at the shoe's mouth.
"""

from __future__ import annotations

from drivers.camera.overhead import Overhead


class Throat(Overhead):
    """
    Yet to be.
    """
