"""What is measured on a model beyond what it says: each measure names what it measures, and what it does not."""
