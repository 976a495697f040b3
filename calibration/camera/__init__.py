"""
Calibration of a camera: the wizard, the check at the start of a shoe, printed markers.

    wizard scripted_dialogue person_dialogue     the steps, and the dialogues that supply them
    wizard_web_page                              state of the wizard, its page for browsers
    frame_source camera_control_locks            frames of a camera or a recording, its controls
    plane_fitting table_plane_and_places         plane of the table and places on it
    printed_markers sheets                       markers: found in an image, and printed
    image_measures reading_settings_from_shown_cards  sharpness, cards, threshold, index window
    calibration_output html_report               results, files written together, report
    shoe_start_check comparison_with_reference_image  changes since the calibration
    image_registration deck_comparison           shift of the table, comparison of the deck
    simulated_table practice_videos_and_live_pictures  a simulated table to practise with

OpenCV is imported by most modules; nothing is imported here.
"""
