// A film made and kept as a file, with a bar that says how far it is, a way to stop, and a sentence where it fails.
import BAR_STYLE from "#view/export/film/film.css";
import { dress, keepFile, part } from "#view/page/elements.js";
import { FILM_KINDS, filmKinds } from "#view/export/film/kinds.js";

// Entries for a chooser: the films that can be made here, and why others cannot. `look` is called once they are known;
// until then there are none. words: what such a film is called.
export function filmEntries(view, look, words = "film") {
  view.films ??= filmKinds().then((found) => {
    view.filmsFound = found;
    look();
  });
  const { kinds = [], why = "" } = view.filmsFound ?? {};
  const made = kinds.map((kind) => [kind, `${words}, ${FILM_KINDS[kind].name}`]);
  return why ? [...made, ["", why, true]] : made;
}

// place: what the bar stands in, for which there is one film at a time; name: of the file, without its ending; the rest
// is what `film` takes. Gives the Blob; null where it was stopped or failed, which is said.
export async function keepFilm(place, { name, ...options }) {
  dress(place, BAR_STYLE);
  place.making?.abort();
  const making = (place.making = new AbortController());
  const { name: kindName } = FILM_KINDS[options.kind];
  const bar = part("progress", { max: 1, value: 0, ariaLabel: `Making the ${kindName}` });
  const cancel = part("button", { type: "button", textContent: "Cancel", onclick: () => making.abort() });
  const words = part("span", { textContent: `Making the ${kindName} …` });
  const row = part("div", { className: "film" }, words, bar, cancel);
  place.replaceChildren(row);
  const onProgress = (done) => {
    bar.value = done;
  };
  try {
    const blob = await film({ ...options, onProgress, signal: making.signal });
    keepFile(blob, `${name}.${options.kind}`);
    if (row.isConnected) row.remove();
    return blob;
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    if (making.signal.aborted) row.remove();
    else row.replaceChildren(part("span", { role: "alert", textContent: `No ${kindName} was made: ${message}` }));
    return null;
  }
}

// Films: a picture for each step, painted here and made into one file. What makes the file is fetched with the first.

// frames: how many; paint(context, index) paints one of them, on a canvas of width x height that is empty; fps: frames
// a second; lasts(index): for how many frames one stays, 1 unless given; kind: one of filmKinds; hold: seconds that the
// last frame stays longer; onProgress is told parts of one. Gives a
// Blob. Rejects with the signal's reason once that is aborted.
async function film(options) {
  const { makeFilm } = await import("#view/export/film/make.js");
  return makeFilm(options);
}
