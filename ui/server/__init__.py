"""What stands between the network and Streamlit: who is let in, what is sent with every answer, and what is held."""
