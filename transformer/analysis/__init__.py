"""What heads do, measured: nothing here draws."""
