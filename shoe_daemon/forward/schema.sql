-- The back office's database, version 1. Its owner, who may create roles, runs this once:
--   shoe-daemon forward --schema | psql DATABASE
-- Grant the roles to the accounts: shoe_forward to `shoe-daemon forward`, shoe_log to displays,
-- shoe_reader to the back office, shoe_staff to those who may see faces that the players have not
-- seen.
BEGIN;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['shoe_forward', 'shoe_log', 'shoe_reader', 'shoe_staff'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END $$;

CREATE SCHEMA shoe;
CREATE VIEW shoe.version AS SELECT 1 AS version;

-- A journal is known by site, table and time of creation: a table with a new journal has two.
-- `seq` is the last event that is copied; it changes in the transaction that copies.
CREATE TABLE shoe.journal (
    id       int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site     text NOT NULL,
    table_id text NOT NULL,
    created  timestamptz NOT NULL,
    seq      bigint NOT NULL DEFAULT 0,
    at       timestamptz,
    copied   timestamptz,
    UNIQUE (site, table_id, created)
);

-- `data` is that of docs/mqtt.md, as the journal has it, byte for byte.
CREATE TABLE shoe.event (
    journal int NOT NULL,
    seq     bigint NOT NULL,
    at      timestamptz NOT NULL,
    shoe    int,
    round   int,
    type    text NOT NULL,
    data    json NOT NULL
) PARTITION BY RANGE (at);

-- One number for an event, a round, and an irregularity.
CREATE FUNCTION shoe.event_id(journal int, seq bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT (journal::bigint << 40) | seq';
CREATE FUNCTION shoe.round_id(journal int, shoe int, round int) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT (journal::bigint << 40) | (shoe::bigint << 16) | round';
CREATE FUNCTION shoe.irregularity_id(journal int, type text, data json) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN type IN ('irregularity', 'irregularity_closed')
        THEN (journal::bigint << 40) | (data ->> 'id')::bigint END
$$;

-- `seq` in `journal`, which moves in the transaction that adds the rows, keeps each event single.
CREATE INDEX ON shoe.event (shoe.event_id(journal, seq));
CREATE INDEX ON shoe.event USING brin (at);
CREATE INDEX ON shoe.event (journal, shoe, round);
CREATE INDEX ON shoe.event (shoe.round_id(journal, shoe, round))
    WHERE shoe.round_id(journal, shoe, round) IS NOT NULL;
CREATE INDEX ON shoe.event (shoe.irregularity_id(journal, type, data))
    WHERE shoe.irregularity_id(journal, type, data) IS NOT NULL;
CREATE INDEX ON shoe.event (type, at) WHERE type IN (
    'round_finished', 'round_voided', 'result_revised', 'irregularity', 'irregularity_closed',
    'ruling_given', 'round_held', 'round_released', 'card_corrected', 'dealer_changed',
    'shoe_started', 'shoe_finished'
);

-- Events for staff only, hidden faces among them.
CREATE TABLE shoe.staff_event (LIKE shoe.event, PRIMARY KEY (journal, seq, at))
    PARTITION BY RANGE (at);

-- Partitions for the month (UTC) of a time. They are attached, because CREATE TABLE … PARTITION OF
-- would wait for all readers.
CREATE FUNCTION shoe.add_month(moment timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    first timestamptz := date_trunc('month', moment);
    parent text;
    part text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('shoe.add_month'));
    FOREACH parent IN ARRAY ARRAY['event', 'staff_event'] LOOP
        part := parent || to_char(first, '_YYYY_MM');
        IF to_regclass('shoe.' || part) IS NULL THEN
            EXECUTE format('CREATE TABLE shoe.%I (LIKE shoe.%I INCLUDING ALL)', part, parent);
            EXECUTE format(
                'ALTER TABLE shoe.%I ATTACH PARTITION shoe.%I FOR VALUES FROM (%L) TO (%L)',
                parent, part, first, first + interval '1 month'
            );
        END IF;
    END LOOP;
END $$;

-- Drops the months that ended more than so many days ago, and what the log derived from them;
-- returns their names.
CREATE FUNCTION shoe.drop_months(days int) RETURNS SETOF text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    part text;
    first timestamptz := date_trunc('month', now() - make_interval(days => days));
    oldest bigint := (extract(epoch FROM first) * 1000000)::bigint;
BEGIN
    DELETE FROM shoe_log.entry WHERE at < oldest;
    DELETE FROM shoe_log.round_card WHERE at < oldest;
    DELETE FROM shoe_log.round WHERE at < oldest;
    FOR part IN
        SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent IN ('shoe.event'::regclass, 'shoe.staff_event'::regclass)
            AND to_date(right(relname, 7), 'YYYY_MM') < first
        ORDER BY relname
    LOOP
        EXECUTE format('DROP TABLE shoe.%I', part);
        RETURN NEXT part;
    END LOOP;
END $$;

CREATE VIEW shoe.tables AS
SELECT DISTINCT ON (site, table_id) site, table_id, id AS journal, created, seq, at, copied
FROM shoe.journal ORDER BY site, table_id, created DESC;

-- A row for each round that has or had a result; `at` is when it was published first. What a person
-- changed later is in the other columns already.
CREATE VIEW shoe.rounds AS
SELECT
    site, table_id, first.journal, first.shoe, first.round, first.seq, first.at,
    result ->> 'outcome' AS outcome,
    result ->> 'kind' AS kind,
    (result ->> 'partial')::boolean AS partial,
    (result #>> '{player,total}')::int AS player_total,
    (result #>> '{banker,total}')::int AS banker_total,
    result #> '{player,cards}' AS player_cards,
    result #> '{banker,cards}' AS banker_cards,
    (result #>> '{player,pair}')::boolean AS player_pair,
    (result #>> '{banker,pair}')::boolean AS banker_pair,
    result -> 'wagers' AS wagers,
    last.type = 'round_voided' AS void,
    last.type <> 'round_finished' AS changed,
    CASE WHEN last.type <> 'round_finished' THEN last.data ->> 'operator' END AS operator
FROM shoe.event AS first
JOIN shoe.journal AS j ON j.id = first.journal
CROSS JOIN LATERAL (
    SELECT type, data FROM shoe.event AS each
    WHERE each.journal = first.journal AND each.shoe = first.shoe AND each.round = first.round
        AND each.type IN ('round_finished', 'round_voided', 'result_revised')
    ORDER BY each.seq DESC LIMIT 1
) AS last
CROSS JOIN LATERAL (
    SELECT CASE WHEN last.type = 'round_finished' THEN last.data
        WHEN json_typeof(last.data -> 'after') = 'object' THEN last.data -> 'after' END AS result
) AS final
WHERE first.type IN ('round_finished', 'round_voided', 'result_revised')
    AND NOT EXISTS (
        SELECT FROM shoe.event AS earlier
        WHERE earlier.journal = first.journal AND earlier.shoe = first.shoe
            AND earlier.round = first.round AND earlier.seq < first.seq
            AND earlier.type IN ('round_finished', 'round_voided', 'result_revised')
    );

-- Public irregularities, and how each was closed.
CREATE VIEW shoe.irregularities AS
SELECT
    site, table_id, e.journal, e.shoe, e.round, e.seq, e.at,
    (e.data ->> 'id')::bigint AS id,
    e.data ->> 'kind' AS kind,
    (e.data ->> 'severity')::int AS severity,
    e.data ->> 'detail' AS detail,
    closed.at AS closed_at,
    closed.data ->> 'action' AS action,
    closed.data ->> 'operator' AS operator,
    closed.data ->> 'reason' AS reason
FROM shoe.event AS e
JOIN shoe.journal AS j ON j.id = e.journal
LEFT JOIN LATERAL (
    SELECT at, data FROM shoe.event AS each
    WHERE shoe.irregularity_id(each.journal, each.type, each.data)
            = shoe.irregularity_id(e.journal, e.type, e.data)
        AND each.type = 'irregularity_closed'
    ORDER BY each.seq LIMIT 1
) AS closed ON true
WHERE e.type = 'irregularity';

-- What people, or the equipment in their place, decided.
CREATE VIEW shoe.decisions AS
SELECT
    site, table_id, e.journal, e.shoe, e.round, e.seq, e.at, e.type,
    (e.data ->> 'id')::bigint AS irregularity,
    e.data ->> 'action' AS action,
    e.data ->> 'operator' AS operator,
    e.data ->> 'reason' AS reason
FROM shoe.event AS e
JOIN shoe.journal AS j ON j.id = e.journal
WHERE e.type IN (
    'irregularity_closed', 'ruling_given', 'round_held', 'round_released', 'round_voided',
    'card_corrected', 'result_revised'
);

-- Who dealt, from when to when; `ended` is null for the dealer of now.
CREATE VIEW shoe.shifts AS
SELECT site, table_id, journal, dealer, began, ended
FROM (
    SELECT
        site, table_id, e.journal, e.data ->> 'dealer' AS dealer, e.at AS began,
        lead(e.at) OVER (PARTITION BY e.journal ORDER BY e.seq) AS ended
    FROM shoe.event AS e
    JOIN shoe.journal AS j ON j.id = e.journal
    WHERE e.type = 'dealer_changed'
) AS changes
WHERE dealer IS NOT NULL;

-- The log of the displays: events as `shoe-daemon display` reads them, and what it derives.
CREATE SCHEMA shoe_log;
SET LOCAL search_path = shoe_log;

CREATE VIEW journal AS
SELECT
    id::bigint, site, table_id AS name, seq AS head,
    coalesce((extract(epoch FROM at) * 1000000)::bigint, 0) AS latest
FROM shoe.journal;

CREATE VIEW event AS
SELECT
    shoe.event_id(journal, seq) AS id, (extract(epoch FROM at) * 1000000)::bigint AS at, shoe,
    round AS number, shoe.round_id(journal, shoe, round) AS round,
    shoe.irregularity_id(journal, type, data) AS ref, type, data
FROM shoe.event;

-- Up to `seq` all is derived.
CREATE TABLE progress (journal bigint PRIMARY KEY, seq bigint NOT NULL);
CREATE VIEW coverage AS SELECT journal, 1::bigint AS first, seq AS last FROM progress;

-- TABLES OF THE LOG

GRANT USAGE ON SCHEMA shoe_log TO shoe_log;
GRANT SELECT ON ALL TABLES IN SCHEMA shoe_log TO shoe_log;
GRANT INSERT, UPDATE, DELETE ON progress, duty, entry, round, round_card TO shoe_log;
SET LOCAL search_path = DEFAULT;

REVOKE EXECUTE ON FUNCTION shoe.add_month, shoe.drop_months FROM PUBLIC;
GRANT USAGE ON SCHEMA shoe TO shoe_forward, shoe_log, shoe_reader;
GRANT shoe_reader TO shoe_staff;
GRANT SELECT ON shoe.version TO shoe_forward, shoe_log, shoe_reader;
GRANT SELECT ON shoe.journal, shoe.tables TO shoe_forward, shoe_reader;
GRANT SELECT ON shoe.event, shoe.rounds, shoe.irregularities, shoe.decisions, shoe.shifts
    TO shoe_reader;
GRANT SELECT ON shoe.staff_event TO shoe_staff;
GRANT INSERT ON shoe.journal, shoe.event, shoe.staff_event TO shoe_forward;
GRANT UPDATE (seq, at, copied) ON shoe.journal TO shoe_forward;
GRANT EXECUTE ON FUNCTION shoe.add_month TO shoe_forward;

COMMIT;
