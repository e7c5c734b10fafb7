"""What a model and its training are made with: tasks, sizes, presets."""
