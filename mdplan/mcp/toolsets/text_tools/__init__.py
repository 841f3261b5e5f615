"""The toolset `text`: TextInspect, TextRead, TextPatch, TextReplace."""
