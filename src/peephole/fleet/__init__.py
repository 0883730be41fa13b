"""Many ranks as one run: a summary per rank, the collectives that they share, one clock, who made everybody wait."""
