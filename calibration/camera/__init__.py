"""
Calibration of a camera: the wizard, the check at the start of a shoe, printed markers.

    wizard script prompts                        the steps, and the dialogues that supply them
    wizard_state live_page                       state of the wizard, its page for browsers
    frame_source camera_device                   frames of a camera or a recording, its controls
    plane_fitting marker_detection table_layout  plane of the table and places on it
    image_measures shown_cards reading_settings  sharpness, cards, threshold, index window
    calibration_result html_report atomic_files  results, report, files written together
    shoe_start_check profile_check registration  changes since the calibration
    deck_comparison card_print                   comparison with the profile's deck
    marker_sheet                                 markers to print
    simulated_table rehearsal                    a simulated table to practise with

OpenCV is imported by most modules; nothing is imported here.
"""
