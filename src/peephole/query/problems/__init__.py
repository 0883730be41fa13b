"""What went wrong, or took long, while a program was compiled."""
