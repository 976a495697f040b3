"""
Calibration of a camera: the wizard, the check at the start of a shoe, printed markers.

    wizard scripted_dialogue person_dialogue  the steps, and the dialogues that supply them
    wizard_page                               state of the wizard, its page for browsers
    frame_source control_locks                frames of a camera or a recording, its controls
    plane layout printed_boxes                plane of the table and places on it
    markers marker_sheets                     markers: found in an image, and printed
    image_measures shown_cards                sharpness, cards, threshold, index window
    output report                             results, files written together, report
    check reference_comparison                changes since the calibration
    registration deck_comparison              shift of the table, comparison of the deck
    simulated_table rehearsal                 a simulated table to practise with

OpenCV is imported by most modules; nothing is imported here.
"""
