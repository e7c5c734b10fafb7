// What an audit asks of a page as it stands, put into it by tests/browser/test_audit.py. Each function of `audit` gives
// sentences, one for each fault; shadow trees are looked into.
(() => {
  const BLOCK = "button, a[href], canvas, input:not([type=hidden]), textarea, select, table, img, summary";
  const ALONE = "svg *, .katex *, canvas, script, style, noscript, option"; // drawn or laid out by others
  const SLACK = 3; // px: what rounding, descenders and negative margins make of two that touch

  const trees = (tree) => [
    tree,
    ...[...tree.querySelectorAll("*")].flatMap(({ shadowRoot }) => (shadowRoot ? trees(shadowRoot) : [])),
  ];
  const all = (selector) => trees(document).flatMap((tree) => [...tree.querySelectorAll(selector)]);
  const above = (one) => one.parentElement ?? one.getRootNode().host;
  const chain = (one) => (one ? [one, ...chain(above(one))] : []);
  const inside = (one, other) => chain(one).includes(other);
  const shown = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const words = (one) => (one.textContent.trim() || one.getAttribute?.("aria-label") || "").replace(/\s+/g, " ");
  const keyOf = ({ className }) => /st-key-\w+/.exec(className?.baseVal ?? className) ?? [];
  const place = (one) => chain(one).flatMap(keyOf);
  const named = (one) => `<${one.localName} class="${one.className}"> “${words(one).slice(0, 50)}” in ${place(one)[0]}`;
  const cut = (box, by) => ({
    left: Math.max(box.left, by.left),
    right: Math.min(box.right, by.right),
    top: Math.max(box.top, by.top),
    bottom: Math.min(box.bottom, by.bottom),
  });
  const plain = ({ left, right, top, bottom }) => ({ left, right, top, bottom });
  const empty = ({ left, right, top, bottom }) => right - left < 1 || bottom - top < 1;

  // What of a box is seen inside of all that it lies in, what cuts it off for good, and whether it scrolls sideways.
  function seen(one, box) {
    let left = plain(box);
    const found = { by: null, scrolls: false, layer: null };
    for (const part of chain(above(one))) {
      const style = getComputedStyle(part);
      if (part === document.body || part.dataset?.testid === "stMain") break;
      for (const [axis, from, to] of [
        ["overflowX", "left", "right"],
        ["overflowY", "top", "bottom"],
      ]) {
        if (style[axis] === "visible") continue;
        const { [from]: start, [to]: end } = part.getBoundingClientRect();
        const over = Math.max(start - left[from], left[to] - end);
        if (axis === "overflowX" && style[axis] !== "clip") found.scrolls = true;
        if (["hidden", "clip"].includes(style[axis]) && over > SLACK) found.by ??= part;
        left = cut(left, { ...left, [from]: start, [to]: end });
      }
      if (["fixed", "sticky"].includes(style.position)) found.layer ??= part;
      if (style.position === "fixed") break;
    }
    return { ...found, box: left };
  }

  // Every line of text in sight, by the element that it stands in.
  function texts() {
    return all("*").flatMap((one) => {
      const nodes = [...one.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
      if (!nodes.length || one.matches(ALONE) || !shown(one) || one.matches("details:not([open])")) return [];
      if (chain(one).some((part) => part.offsetWidth <= 1 || part.offsetHeight <= 1)) return []; // said, not shown
      return nodes.flatMap((node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return [...range.getClientRects()].filter((box) => !empty(box)).map((box) => ({ one, ...seen(one, box) }));
      });
    });
  }

  const tells = (one, by) =>
    chain(one).some((part) => part.title || part.getAttribute("aria-label") || part.matches("summary")) ||
    by.title ||
    by.tabIndex >= 0;

  const sideways = (width) =>
    [document.documentElement, document.querySelector("[data-testid=stMain]")]
      .filter((one) => one && one.scrollWidth > Math.max(width, one.clientWidth))
      .map((one) => `${one.localName} scrolls sideways: ${one.scrollWidth} px`);

  function overlapping(lines) {
    const found = new Set();
    const sorted = lines.filter(({ box }) => !empty(box)).sort((one, other) => one.box.top - other.box.top);
    sorted.forEach((one, at) => {
      for (const other of sorted.slice(at + 1)) {
        if (other.box.top > one.box.bottom - SLACK) break;
        const both = cut(one.box, other.box);
        if (one.one === other.one || one.layer !== other.layer) continue;
        if (both.right - both.left <= SLACK || both.bottom - both.top <= SLACK) continue;
        if (inside(one.one, other.one) || inside(other.one, one.one)) continue;
        found.add(`${named(one.one)} lies over ${named(other.one)}`);
      }
    });
    return [...found];
  }

  function beyond(lines, width) {
    const outside = (box) => box.right > width + 1 || box.left < -1;
    const blocks = all(BLOCK)
      .filter((one) => shown(one) && one.offsetWidth > 1)
      .map((one) => ({ one, whole: one.getBoundingClientRect(), ...seen(one, one.getBoundingClientRect()) }));
    return [...lines, ...blocks]
      .filter(({ box, scrolls, one }) => !scrolls && outside(box) && !one.closest("[data-testid=stSidebar]"))
      .map(({ one }) => `${named(one)} reaches beyond the screen`);
  }

  function layout(width) {
    const lines = texts();
    const clipped = lines.filter(({ one, by }) => by && !tells(one, by)).map(({ one }) => `${named(one)} is cut off`);
    return [...sideways(width), ...new Set([...beyond(lines, width), ...clipped]), ...overlapping(lines)];
  }

  // All that is tapped on the main path is as large as a finger.
  const fingers = (selector, least) =>
    all(selector)
      .map((one) => [one, one.getBoundingClientRect()])
      .filter(([one, { width, height }]) => shown(one) && width > 1 && Math.min(width, height) < least - 0.5)
      .filter(([one]) => !one.closest("[data-testid=stSidebar]"))
      .map(([one, { width, height }]) => `${named(one)} is too small for a finger: ${width} x ${height} px`);

  // What has to be on the first screen: [selector, how high at least, how many of them; 0 for all].
  const first = (wanted) =>
    wanted.flatMap(([selector, least, count]) => {
      const found = all(selector).filter((one) => one.getBoundingClientRect().width);
      const missing = found.length < Math.max(1, count) ? [`there is no ${selector}, or too few: ${found.length}`] : [];
      const off = found.slice(0, count || Infinity).filter((one) => {
        const { left, top, right, bottom, height } = one.getBoundingClientRect();
        return left < -1 || top < -1 || right > innerWidth + 1 || bottom > innerHeight + 1 || height < least;
      });
      return [...missing, ...off.map((one) => `${named(one)} is not on the first screen, or not ${least} px high`)];
    });

  // Text too small for the last row, by its size on the screen: of its type, enlarged with all that it stands in.
  const small = (least, smaller) =>
    trees(document.querySelector("[data-testid=stMainBlockContainer]"))
      .flatMap((tree) => [...tree.querySelectorAll("*")])
      .filter((one) => [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim()))
      .filter((one) => !one.matches(smaller) && shown(one) && !one.closest("[class*=_leave]"))
      .filter((one) => Math.min(one.getBoundingClientRect().width, one.getBoundingClientRect().height) >= 2)
      .map((one) => [one, parseFloat(getComputedStyle(one).fontSize) * (one.currentCSSZoom ?? 1)])
      .filter(([, size]) => size < least - 0.05)
      .map(([one, size]) => `${named(one)} cannot be read from the last row: ${size} px`);

  const left = (controls, allowed) =>
    [...document.querySelectorAll(controls)]
      .filter((one) => shown(one) && !one.matches(allowed) && one.getBoundingClientRect().width > 1)
      .map((one) => `${named(one)} is left to set up`);

  // What axe finds in what `of` selects, less what stands in `theirs`: [rule, selector].
  const names = async (of, theirs, options) =>
    (await window.axe.run(of, { resultTypes: ["violations"], elementRef: true, ...options })).violations.flatMap(
      ({ id, impact, nodes }) =>
        nodes
          .filter(({ element }) => !theirs.some(([rule, selector]) => rule === id && element.closest(selector)))
          .map(({ element, any, all: every, none }) => {
            const why = [...any, ...every, ...none].map(({ message }) => message).join("; ");
            return `${id} (${impact}): ${named(element)}: ${why}`;
          }),
    );

  // What would be asked of another host, of which a browser asks some before any script can hear of it.
  const outside = () =>
    all("link[href], [src]")
      .map((one) => new URL(one.href || one.src, document.baseURI))
      .filter(({ protocol, host }) => protocol.startsWith("http") && host !== window.location.host)
      .map(({ href }) => `another host is named: ${href}`);

  window.audit = { layout, fingers, first, small, left, names, outside };
})();
