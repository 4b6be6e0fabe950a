"""Everything that a report says about a fit or a validation, computed before it is written."""
