"""What an agent sends and receives for the same thirty tasks, with mdplan and with other tools."""
