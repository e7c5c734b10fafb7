"""Other people's models: Hugging Face folders into checkpoints of ours, and a model of ours back out."""
