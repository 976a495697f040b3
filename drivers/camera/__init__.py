"""
A camera that reads cards: above the table, or at the shoe's mouth.

`driver` is what a configuration names. It opens a `line`: a thread that takes
pictures from a `sources.Source`, and a station that watches them, `overhead` or
`throat`, and says one JSON line for each card (`messages`). What the picture
shows of the table is in a `profile`, made by `shoe-daemon calibrate camera`.

    sources → capture → overhead: places → corners ┐
                        throat: passage → ends     ┴→ recogniser → messages

    driver line stations messages               pictures in, a line for each card out
    address login sources refusals              what a port names, and who refuses it
    devices video jpegs raw                     the kinds of sources
    capture frames                              pictures in time, and what is wrong with one
    profile soundness dimensions                what was calibrated, and whether it can be
    geometry bearings                           millimetres and pixels; light; a camera moved
    overhead places ledger                      above the table: what was laid, and when
    throat mouth plates passage sight ends      at the shoe's mouth: what left, what was missed
    eye corners fitting                         where a card lies, and what is said of it
    recogniser windows confidence sharpness     which card it is, and how sure that is
    evidence                                    pictures that are kept
    view viewed looks listening lending         people who look, and programs that borrow

OpenCV is imported when a line is opened, not before. Nothing is imported here.
"""
