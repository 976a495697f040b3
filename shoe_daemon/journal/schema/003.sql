-- Random bytes in the hash of each row that is written since this version; null in older rows. Without
-- them a hidden face could be found from a published hash, by trying all 52. They are never published.
ALTER TABLE capture ADD COLUMN salt BLOB;
ALTER TABLE observation ADD COLUMN salt BLOB;
ALTER TABLE event ADD COLUMN salt BLOB;
ALTER TABLE checkpoint ADD COLUMN salt BLOB;
