"""What all pages share: navigation, display preferences, lists in parts, addresses."""
