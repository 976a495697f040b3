"""
A camera that reads cards: above the table, or at the shoe's mouth.

`driver` is what a configuration names. It opens a `line`: a thread that takes
pictures from a `sources.Source`, and a station that watches them, `overhead` or
`throat`, and says one JSON line for each card (`messages`). What the picture
shows of the table is in a `profile`, made by `shoe-daemon calibrate camera`.

    sources → capture → overhead: places → corners ┐
                        throat                     ┴→ recogniser → messages

OpenCV is imported when a line is opened, not before. Nothing is imported here.
"""
