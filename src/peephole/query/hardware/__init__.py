"""What AMD's hardware reports of a kernel: thread traces (SQTT) and performance counters (PMC)."""
