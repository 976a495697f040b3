"""
Training of the recogniser's weights; not needed for reading cards.

Patches are rendered from parametric decks, free fonts and the artwork of packages, photographed by
a simulated camera, and a small network is trained on the CPU. Decks, fonts, seeds and layouts kept
out of training form the published test. `python -m calibration.training` runs everything; it needs
the dependency group `training` and the source tree: the wheel does not contain it.
"""
