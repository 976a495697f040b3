"""The Debian packages. `make test-all` builds them; `make test` checks their parts."""
