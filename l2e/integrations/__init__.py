"""The default method inside other people's tools."""
