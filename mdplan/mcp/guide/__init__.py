"""What a server says of itself: instructions, introductions of its toolsets, resources."""
