"""Who is signed in, and the way out or in, in a line."""

from ui.access import accounts, sign_in_settings
from ui.figures import markdown_text


def signed_in() -> str:
    """In Markdown, for every page's menu and for Train; nothing on a server where nobody signs in."""
    if sign_in_settings.current() is None:
        return ""
    if person := accounts.here():
        role = ", teacher" if person.teaches else ""
        return f"Signed in as **{markdown_text(person.name)}**{role} · [Sign out](./sign-out)"
    return "Not signed in · [Sign in](./sign-in)"
