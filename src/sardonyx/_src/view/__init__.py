"""Pictures of models: pages for browsers and notebooks, and text for documents."""
