"""Streamlit code that more than one page needs."""
