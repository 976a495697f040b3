"""
Calibrating a camera: a guided run, the check at the start of a shoe, and markers to print.

    measures layout cards window threshold          steps, as functions of pictures
    markers rectangles plane                        the plane of the table, and how it is found
    moved drift deck printed                        what changed since: the picture, the deck
    pictures lent controls                          where pictures come from
    guide answers person                            the run: its steps, a script, a person
    desk overlay live                               the person's page: asked, drawn, served
    check result report sheet                       what is looked at, written, printed
    rehearsal rehearsed                             a table that is not there, to try it all

OpenCV is imported by most modules here; nothing is imported by this one.
"""
