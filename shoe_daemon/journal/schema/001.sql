-- The first form of the journal.
-- No row of capture, observation, event and checkpoint is ever changed or removed; each
-- holds the hash of the chain up to and with itself.

CREATE TABLE meta (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    site    TEXT NOT NULL,
    "table" TEXT NOT NULL,
    created TEXT NOT NULL
) STRICT;

-- Raw bytes as they came. `after` is the observation written last before them.
CREATE TABLE capture (
    id     INTEGER PRIMARY KEY,
    at     TEXT NOT NULL,
    source TEXT,
    bytes  BLOB NOT NULL,
    after  INTEGER NOT NULL,
    hash   BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- `body` is the line of the observation log; the columns before it repeat what it says.
CREATE TABLE observation (
    id      INTEGER PRIMARY KEY,
    at      TEXT NOT NULL,
    source  TEXT,
    type    TEXT NOT NULL,
    body    TEXT NOT NULL,
    capture INTEGER REFERENCES capture (id),
    hash    BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- Both indexes are partial: the writer touches them once a start, or once a shoe.
CREATE INDEX session ON observation (id) WHERE type = 'session';

CREATE TABLE event (
    seq         INTEGER PRIMARY KEY,
    observation INTEGER NOT NULL REFERENCES observation (id),
    at          TEXT NOT NULL,
    shoe        INTEGER,
    round       INTEGER,
    type        TEXT NOT NULL,
    body        TEXT NOT NULL,
    hash        BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE INDEX shoe_start ON event (shoe, seq) WHERE type = 'shoe_started';

-- The table after an observation, in a form that only the table knows.
CREATE TABLE checkpoint (
    observation INTEGER PRIMARY KEY REFERENCES observation (id),
    seq         INTEGER NOT NULL,
    shoe        INTEGER,
    body        BLOB NOT NULL,
    hash        BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- What is only counted, per reader ('' where there is only one), and how far each consumer
-- of events has come. These change in place, and are no part of the chain.
CREATE TABLE counter (
    source  TEXT PRIMARY KEY,
    repeats INTEGER NOT NULL DEFAULT 0 CHECK (repeats >= 0),
    noise   INTEGER NOT NULL DEFAULT 0 CHECK (noise >= 0),
    bytes   INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE cursor (
    consumer TEXT PRIMARY KEY,
    seq      INTEGER NOT NULL CHECK (seq >= 0)
) STRICT, WITHOUT ROWID;
