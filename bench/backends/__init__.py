"""What can stand behind the client besides a live endpoint: a mock transport and an embedded model server."""
