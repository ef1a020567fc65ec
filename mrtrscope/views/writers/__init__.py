"""Writers: from a scene or a laid-out page to one language each. All of them say the same."""
