"""Jobs, long work in processes of their own: started, queued, watched and ended, here or on a Ray cluster."""
