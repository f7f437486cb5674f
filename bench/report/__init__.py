"""Tables, figures and the text of the report, from files on disk alone."""
