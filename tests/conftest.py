"""Nothing here may need a backend: the folders bring their own fixtures."""
