// The widget of a notebook, as anywidget calls it: a frame that draws (notebook_frame.js), and what goes between it and
// the model, which Python has the other end of.

const ASKED = ["_look", "_move", "_branch"]; // all that a frame sets of the model

// page: the frame's document.
export const widgetOf = (page) => ({
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.title = "Attention";
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    const size = () => {
      frame.style.cssText = `display: block; width: 100%; height: ${model.get("height")}px; border: 0`;
    };
    const draw = () => {
      const { buffer, byteOffset, byteLength } = model.get("message");
      if (!byteLength) return; // Python has not drawn yet
      const message = new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength));
      frame.contentWindow?.postMessage({ message, look: lookOf(el) }, "*");
    };
    // A notebook takes a cell off the page that is scrolled away; when it is back, the frame begins anew and says so.
    const hear = ({ source, data }) => {
      if (source !== frame.contentWindow) return;
      if (data?.ready) return draw();
      const asked = ASKED.filter((name) => data?.[name]);
      for (const name of asked) model.set(name, data[name]);
      if (asked.length) model.save_changes();
    };
    const signal = new AbortController();
    window.addEventListener("message", hear, { signal: signal.signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal: signal.signal });
    const dressed = new MutationObserver(draw);
    for (const one of [document.documentElement, document.body]) dressed.observe(one, { attributes: true });
    model.on("change:message", draw);
    model.on("change:height", size);
    size();
    frame.srcdoc = page;
    el.append(frame);
    return () => {
      signal.abort();
      dressed.disconnect();
      model.off("change:message", draw);
      model.off("change:height", size);
    };
  },
});

// The notebook's own colours and type where the widget stands.
function lookOf(el) {
  const { color, fontFamily } = getComputedStyle(el);
  return { background: backgroundOf(el), color, font: fontFamily };
}

// The first background behind an element that is not transparent, or null.
function backgroundOf(element) {
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
    const { backgroundColor } = getComputedStyle(at);
    if (!/^(transparent|rgba\(.*, 0\))$/.test(backgroundColor)) return backgroundColor;
  }
  return null;
}
