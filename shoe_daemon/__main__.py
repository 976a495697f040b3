"""`python -m shoe_daemon` is `shoe-daemon`."""

from shoe_daemon.cli import main

if __name__ == "__main__":
    main()
