"""The architecture of a model as blocks with places, and as a drawing."""
