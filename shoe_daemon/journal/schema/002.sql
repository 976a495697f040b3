-- Signatures of the chain at the end of each shoe. No part of the chain: a journal has the same
-- hashes with and without them. `body` is the signed text, `seq` the last event that it covers,
-- `key` the public key.
CREATE TABLE signature (
    seq       INTEGER PRIMARY KEY,
    shoe      INTEGER NOT NULL,
    body      TEXT NOT NULL,
    key       BLOB NOT NULL CHECK (length(key) = 32),
    signature BLOB NOT NULL CHECK (length(signature) = 64)
) STRICT;

-- Where the journal begins after its oldest shoes were removed: the last removed rows, the hash of
-- the chain after them, and the time of the removal. Of the removed observations, the session in
-- effect is kept.
CREATE TABLE anchor (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    capture     INTEGER NOT NULL,
    observation INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    shoe        INTEGER NOT NULL,
    at          TEXT NOT NULL,
    hash        BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
