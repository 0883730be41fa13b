"""The page's server: it formats what query/ returns and computes nothing itself."""
