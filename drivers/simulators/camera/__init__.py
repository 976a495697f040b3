"""
A simulated camera: a baccarat table, or the shoe's mouth, as a webcam would show it.

    shoe → script → stretch (cards and hands in time) → view (what is lit) → sensor

The rounds are those that the other simulators deal; what really is before the camera is
known for every picture (`truth`). `scene.Scene` gives pictures; `video` writes them to a
file, `live` sends them to a driver, `calibrated` writes the profile that a perfect
calibration would. All of it follows from a seed. OpenCV is imported by most modules
here; nothing is imported by this one.
"""
