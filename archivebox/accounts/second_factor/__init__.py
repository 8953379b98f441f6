"""What an account asks for beside its password: the code of an app, a passkey, or a recovery code."""
