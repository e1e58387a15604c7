-- Several processes share a server and ask by account and partition, so its indexes stay.
SELECT 1;
