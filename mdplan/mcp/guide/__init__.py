"""The texts of a server about itself: instructions, introductions of its toolsets, resources."""
