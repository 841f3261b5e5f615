"""Review in the chat: an MCP App (SEP-1865) that shows a plan, and the tools after it.

The App runs in the host of the agent, so a decision in it is as trustworthy as the host. See
docs/explanation/security-model.md.
"""
