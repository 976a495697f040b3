"""
Experiments that accept or reject the camera: a command for each question.

    shoes          How many rounds of whole shoes are silently wrong?
    throat         Which cards at a shoe's exit are missed, invented or wrong?
    curves         How bad may a picture be?
    strange_decks  How often does a card of a strange deck get a wrong name?
    calibration    How accurate are a calibration and its check?
    streams        How late are pictures of a network camera, and how soon is it found again?
"""
