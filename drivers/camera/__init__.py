"""
Cameras that read cards: above the table, or at the shoe's throat.

`camera_driver` is the entry point of a configuration. It opens a `camera_as_line`: a thread that
captures frames from a source, and a station that turns them into JSON lines, one for each
card (`line_messages`). A `profile`, made by `shoe-daemon calibrate camera`, describes where
the places are in the frame.

    sources → frame_capture_and_checks → overhead_station: slot_tracker → find_and_read_card
                         or → throat_station: throat_card_track → throat_window_and_index_vote
    Both read an index with corner_index_reader.

    camera_driver options camera_as_line line_messages configuration, the line, its JSON
    evidence_photos                             stored pictures of the cards that were read
    sources                                     addresses, logins, kinds of sources, capture
    profile                                     the calibrated profile and its validation
    recognition                                 geometry, card outlines, the recogniser
    stations                                    overhead and throat: tracking, order, checks
    preview web                                 browser preview, frames for others; web server

OpenCV is imported when a line is opened, not before. Nothing of ours is imported here.
"""

import os
from typing import Final

MAX_PIXELS: Final = 16_777_216
"""Pixels of a picture, or of a frame of a video, from outside; larger ones are not decoded."""

# A file of 378 bytes can claim a gigapixel. OpenCV reads this once, when it is loaded.
os.environ["OPENCV_IO_MAX_IMAGE_PIXELS"] = str(MAX_PIXELS)
