// From the page of rooms into one, whose pages are no pages of the app.

export default function component({ data }) {
  window.location.assign(new URL(`./r/${data.code}`, document.baseURI));
}
