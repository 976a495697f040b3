"""
Cameras that read cards: above the table, or at the shoe's throat.

`driver` is the entry point of a configuration. It opens a `line`: a thread that captures frames
from a source, and a station that turns them into JSON lines, one for each card (`messages`). A
`profile`, made by `shoe-daemon calibrate camera`, describes where the places are in the frame.

    sources: capture → stations: overhead: slot_tracker → recognition: card_reader
                         or throat: card_track, throat_window, throat_vote
    Both read an index with the recogniser.

    driver options line messages   configuration, the line, its JSON
    evidence                       stored pictures of the cards that were read
    clip video_ring                video of disputes
    sources                        addresses, logins, kinds of sources, capture
    profile                        the calibrated profile and its validation
    recognition                    geometry, card outlines, the recogniser
    stations                       overhead and throat: tracking, order, checks
    preview web                    browser preview, frames for others; web server

OpenCV is imported when a line is opened, not before. Nothing of ours is imported here.
"""

import os
from typing import Final

MAX_PIXELS: Final = 16_777_216
"""Pixels of a picture, or of a frame of a video, from outside; larger ones are not decoded."""

# A file of 378 bytes can claim a gigapixel. OpenCV reads this once, when it is loaded.
os.environ["OPENCV_IO_MAX_IMAGE_PIXELS"] = str(MAX_PIXELS)
