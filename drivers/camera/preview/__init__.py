"""Browser page of this machine with the camera's frames and the cards that were read."""
