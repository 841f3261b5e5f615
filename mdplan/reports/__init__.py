"""Reports: what each verb returns."""
