"""
A simulated camera: a baccarat table or a shoe's throat, as a webcam shows it.

    shoe → animated_shoe → AnimatedRound (cards and hands in time) → table_image / throat_image
    → lamps → sensor

The rounds are those of the other simulators, and the true scene is known for every picture
(`Truth`). `scene.Scene` renders pictures, `files` writes them to a file, with the profile of
a perfect calibration, and `live` sends them to a driver. A seed determines everything. Most
modules import OpenCV; this one imports nothing.
"""
