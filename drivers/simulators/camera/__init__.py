"""
A simulated camera: a baccarat table or a shoe's exit, as a webcam shows it.

    shoe → round_script → AnimatedRound (cards and hands in time) → table_image / throat_image
    (lit) → sensor_effects

The rounds are those of the other simulators, and the true scene is known for every picture
(`ground_truth`). `scene_renderer.Scene` renders pictures, `video_writer` writes them to a file,
`live_sender` sends them to a driver, and `ideal_profile` writes the profile of a perfect
calibration. Everything is determined by a seed. Most modules import OpenCV; this one imports
nothing.
"""
