"""Files of a site that list its pages: entries follow pages that are made, renamed and deleted."""
