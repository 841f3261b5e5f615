"""A plan as people review it: files, hunks, lines with word marks, and the edits behind them."""
