"""Who may do what: the keys people hold, the rules, the quotas."""
