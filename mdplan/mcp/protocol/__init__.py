"""What depends on the SDK: the server, stdio, HTTP, Apps, tasks and questions to users."""
