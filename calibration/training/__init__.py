"""
How the recogniser's weights come to be: nothing here is needed to read cards.

Patches are rendered from parametric decks, free fonts and the artwork of
packages, photographed by a simulated camera, and a small network is trained on
them on the CPU. What is kept out of training (decks, fonts, seeds, layouts)
makes the test that is stated with the weights. `python -m calibration.training`
does all of it; it needs the dependency group `training` and
the source tree: the wheel does not contain it.
"""
