"""The path over k and ridge, its cross-validation, and the rules that choose from it."""
