"""
Calibrating a camera: a guided run, the check at the start of a shoe, and markers to print.

    measures plane layout cards window threshold drift deck    steps, as functions of pictures
    pictures controls                                           where pictures come from
    guide answers person live                                   the run: script, terminal, page
    check result report sheet                                   what is looked at, written, printed

OpenCV is imported by most modules here; nothing is imported by this one.
"""
