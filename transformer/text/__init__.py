"""Text and ids: tokenizers, corpora, the reader's own files, batches."""
