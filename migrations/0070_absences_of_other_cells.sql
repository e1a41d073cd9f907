-- What a gateway has received before an organisation came from another cell, whose searches may have denied it, is not processed.

ALTER TABLE organisation ADD arrived_absence bigint NOT NULL DEFAULT 0;
