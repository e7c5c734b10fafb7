// Audits a page as it is. tests/browser/test_audit.py injects this; each function of `audit` returns one sentence per
// fault, and looks into shadow roots as well.
(() => {
  const BLOCK = "button, a[href], canvas, input:not([type=hidden]), textarea, select, table, img, summary";
  const ALONE = "svg *, .katex *, canvas, script, style, noscript, option"; // not laid out as text, or not by us
  const SLACK = 3; // px by which neighbours may overlap: rounding, descenders, negative margins

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

  // Returns the visible part of a box inside its ancestors, which of them clips it for good, and whether one scrolls
  // sideways.
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

  // Returns every visible line of text with its element.
  function texts() {
    return all("*").flatMap((one) => {
      const nodes = [...one.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
      if (!nodes.length || one.matches(ALONE) || !shown(one) || one.matches("details:not([open])")) return [];
      if (chain(one).some((part) => part.offsetWidth <= 1 || part.offsetHeight <= 1)) return []; // for screen readers
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

  // Touch targets smaller than a finger.
  const fingers = (selector, least) =>
    all(selector)
      .map((one) => [one, one.getBoundingClientRect()])
      .filter(([one, { width, height }]) => shown(one) && width > 1 && Math.min(width, height) < least - 0.5)
      .filter(([one]) => !one.closest("[data-testid=stSidebar]"))
      .map(([one, { width, height }]) => `${named(one)} is too small for a finger: ${width} x ${height} px`);

  // What is missing from the first screen: [selector, least height in px, how many; 0 for all].
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

  // Text too small for the last row of a class: its font size times the zoom of its ancestors. A figure that is larger
  // than the screen is made smaller, so that all of it is seen, with its type.
  const SMALLEST = 0.6;
  const fitted = (one) =>
    chain(one).some((up) => up !== document.documentElement && up.style?.getPropertyValue("--enlarged"));
  const small = (least, smaller) =>
    trees(document.querySelector("[data-testid=stMainBlockContainer]"))
      .flatMap((tree) => [...tree.querySelectorAll("*")])
      .filter((one) => [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim()))
      .filter((one) => !one.matches(smaller) && shown(one) && !one.closest("[class*=_leave]"))
      .filter((one) => Math.min(one.getBoundingClientRect().width, one.getBoundingClientRect().height) >= 2)
      .map((one) => [one, parseFloat(getComputedStyle(one).fontSize) * (one.currentCSSZoom ?? 1)])
      .filter(([one, size]) => size < (fitted(one) ? SMALLEST : 1) * least - 0.05)
      .map(([one, size]) => `${named(one)} cannot be read from the last row: ${size} px`);

  // What an edge of a presented screen cuts, and words that end in dots because they have no room.
  const cuts = () => {
    const edges = texts().filter(({ one, box: { top, bottom } }) => {
      if (one.closest("[data-testid=stHeader]")) return false;
      return (bottom > innerHeight + SLACK && top < innerHeight - SLACK) || (top < -SLACK && bottom > SLACK);
    });
    const dots = (one) => {
      const { textOverflow, overflowX } = getComputedStyle(one);
      return textOverflow === "ellipsis" && overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1;
    };
    const dotted = texts().filter(({ one }) => chain(one).slice(0, 3).some(dots));
    return [
      ...edges.map(({ one }) => `${named(one)} is cut by an edge`),
      ...dotted.map(({ one }) => `${named(one)} ends in dots`),
    ];
  };

  // What of the screen the picture has, and the controls that are in sight. The arrow of a select is no control of its
  // own, nor is a cell of a map that arrow keys walk through, or a token of a text in which one is chosen.
  const ACTS = "button, input, select, textarea, a[href], summary, [role=slider]";
  const PART_OF = `[data-testid=stSelectbox] button, :is(.head-maps .grid, .flow) [tabindex="-1"],
    [class*=_position] [aria-checked=false]`;
  const OF_ALL =
    "header, [data-testid=stSidebar], [class*=_model_settings], [class*=_present], .page-link, .presenter-keys";
  const reached = (one) => {
    const { left: x, top, width, height } = one.getBoundingClientRect();
    const found = width > 2 && height > 2 && one.getRootNode().elementFromPoint(x + width / 2, top + height / 2);
    return found && (one.contains(found) || found.contains(one));
  };
  const stage = (picture, share, most) => {
    const controls = all(ACTS).filter((one) => !one.closest(OF_ALL) && !one.matches(PART_OF) && reached(one));
    const names = controls.map((one) => one.ariaLabel || one.innerText).join(", ");
    const many = controls.length > most ? [`${controls.length} controls are in sight, at most ${most}: ${names}`] : [];
    if (!picture) return many;
    const { width, top, bottom } = all(picture)[0].getBoundingClientRect();
    const part = (width * (Math.min(innerHeight, bottom) - Math.max(0, top))) / (innerWidth * innerHeight);
    return part < share ? [...many, `the picture has ${Math.round(100 * part)}% of the screen`] : many;
  };

  // On a telephone the picture has the width and half of the height, and the steps are on the screen.
  const half = (picture) => {
    const { width, top, bottom } = all(picture)[0].getBoundingClientRect();
    const high = Math.min(innerHeight, bottom) - top;
    const below = all(".brief").length ? [] : all(".controls, .next-tokens").filter(shown);
    return [
      ...(width < innerWidth - 40 ? [`the picture is ${width} px wide`] : []),
      ...(high < innerHeight / 2 ? [`the picture is ${high} px high`] : []),
      ...below
        .filter((one) => one.getBoundingClientRect().bottom > innerHeight + 1)
        .map((one) => `${named(one)} is below the screen`),
    ];
  };

  const left = (controls, allowed) =>
    [...document.querySelectorAll(controls)]
      .filter((one) => shown(one) && !one.matches(allowed) && one.getBoundingClientRect().width > 1)
      .map((one) => `${named(one)} is left to set up`);

  // Violations that axe finds inside `of`, without those in `theirs`: [rule, selector].
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

  // Links and sources on other hosts. A browser requests some of them before any script can notice.
  const outside = () =>
    all("link[href], [src]")
      .map((one) => new URL(one.href || one.src, document.baseURI))
      .filter(({ protocol, host }) => protocol.startsWith("http") && host !== window.location.host)
      .map(({ href }) => `another host is named: ${href}`);

  window.audit = { layout, fingers, first, stage, half, small, cuts, left, names, outside };
})();
