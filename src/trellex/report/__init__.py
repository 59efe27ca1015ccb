"""Reports: tables and figures from the results of experiments."""
