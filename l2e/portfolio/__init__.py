"""The parts of the default optimizer: experts that search, probes that look, a router that decides."""
