"""Who may do what: roles of accounts, tokens for programs, and the record of what they changed."""
