"""Third-party searchers behind the metered contract; each imports its package only when it runs."""
