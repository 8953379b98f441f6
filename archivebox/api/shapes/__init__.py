"""What the API says of each kind of row, and what it takes."""
