"""What a verb hands back."""
