// Films: a picture for each step, painted here and made into one file. What makes the file is fetched with the first.

// frames: how many; paint(context, index) paints one of them, on a canvas of width x height that is empty; fps: frames
// a second; kind: one of filmKinds; hold: seconds that the last frame stays; onProgress is told parts of one. Gives a
// Blob. Rejects with the signal's reason once that is aborted.
export async function film(options) {
  const { makeFilm } = await import("#view/film/make.js");
  return makeFilm(options);
}
