-- A search reads a page of each part of the index for each word. With 1,000 bytes, of which two fit a page of the file, a word costs 30 % less processor time than with the preset of 4,050, and the index is a tenth smaller (100,000 messages). What is stored already keeps its pages until it is merged.
INSERT INTO recall_terms (recall_terms, rank) VALUES ('pgsz', 1000);
