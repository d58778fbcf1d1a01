"""From the records of a document to the data of a page."""
