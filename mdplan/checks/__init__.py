"""What a change, made by whatever tool, did to documents: for people who keep their own editor."""
