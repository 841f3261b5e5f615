-- The tables of a store. The views are for people: see docs/how-to/recover-after-a-crash.md.
CREATE TABLE transactions (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    began_at REAL NOT NULL,
    made_folders TEXT NOT NULL,
    removed_folders TEXT NOT NULL,
    is_clean INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX transactions_left ON transactions (sequence) WHERE state = 'committed' AND is_clean = 0;
CREATE TABLE files (
    sequence INTEGER NOT NULL REFERENCES transactions ON DELETE CASCADE,
    position INTEGER NOT NULL,
    path BLOB NOT NULL,
    base TEXT, base_bytes INTEGER NOT NULL,
    result TEXT, result_bytes INTEGER NOT NULL,
    PRIMARY KEY (sequence, position)
) WITHOUT ROWID;
CREATE INDEX files_base ON files (base);
CREATE INDEX files_result ON files (result);
CREATE TABLE parts (key TEXT NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (key, part));
CREATE TABLE traits (sha256 TEXT PRIMARY KEY, mode INTEGER, uid INTEGER, gid INTEGER, attributes TEXT);
CREATE TABLE plans (
    id TEXT PRIMARY KEY, saved_at REAL NOT NULL, client TEXT, client_version TEXT
) WITHOUT ROWID;
CREATE TABLE plan_bases (
    plan TEXT NOT NULL REFERENCES plans ON DELETE CASCADE, position INTEGER, sha256 TEXT NOT NULL,
    PRIMARY KEY (plan, position)
) WITHOUT ROWID;
CREATE INDEX plan_bases_content ON plan_bases (sha256);
CREATE TABLE links (
    plan TEXT NOT NULL, made_from TEXT NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (plan, made_from, kind)
) WITHOUT ROWID;
CREATE TABLE decisions (
    plan TEXT NOT NULL, number INTEGER NOT NULL, version TEXT NOT NULL, kind TEXT NOT NULL,
    facts TEXT NOT NULL, stored_at REAL NOT NULL,
    PRIMARY KEY (plan, number)
) WITHOUT ROWID;
CREATE TABLE review (address TEXT NOT NULL, view_key TEXT NOT NULL, process INTEGER NOT NULL);
CREATE VIEW transaction_list AS
    SELECT id, state, datetime(began_at, 'unixepoch') AS began_at, CAST(path AS TEXT) AS path, base, result
    FROM transactions JOIN files USING (sequence) ORDER BY sequence DESC, position;
CREATE VIEW plan_list AS
    SELECT id, datetime(saved_at, 'unixepoch') AS saved_at, client, client_version FROM plans
    ORDER BY plans.saved_at DESC;
