"""Modules that `npm run kits` generates from the API."""
