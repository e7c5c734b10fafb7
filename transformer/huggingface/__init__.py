"""Imports of other people's models from Hugging Face folders and GGUF files, and exports of ours."""
