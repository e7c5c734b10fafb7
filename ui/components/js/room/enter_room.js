// The way from the page of rooms into one. A lecturer's browser takes the key of the room that was opened and loads the
// page again; another goes to the page of a phone, which is no page of the app.

export default function component({ data: { key, code }, parentElement }) {
  if (code) return window.location.assign(new URL(`./r/${code}`, document.baseURI));
  const root = parentElement.querySelector(".enter-room");
  if (root.key === key) return;
  root.key = key;
  fetch(new URL("./lead", document.baseURI), { method: "POST", body: JSON.stringify({ key }) }).then((answer) => {
    if (answer.ok) window.location.reload();
    else root.textContent = "The room could not be entered. Load the page again.";
  });
}
