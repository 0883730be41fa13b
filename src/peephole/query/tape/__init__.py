"""The tape of a distributed program: who said what to whom."""
