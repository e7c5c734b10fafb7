// What lies over the foot of every page (a lesson, a room), one above the other: the page gets as much room below.
const heights = (window.headsUpFoot ??= {});

export function takeFoot(name, root) {
  root.foot ??= new ResizeObserver(() => {
    heights[name] = root.isConnected ? root.offsetHeight : 0;
    const all = Object.values(heights).reduce((sum, height) => sum + height, 0);
    const { style, classList } = document.documentElement;
    style.setProperty("--foot", `${all}px`);
    for (const [one, height] of Object.entries(heights)) style.setProperty(`--foot-${one}`, `${height}px`);
    classList.toggle("foot-on", all > 0);
  });
  root.foot.observe(root);
}
