export interface Popover {
  title?: string;
  description?: string;
  side?: string;
  align?: string;
  popoverClass?: string;
  onPopoverRender?: (sign: { wrapper: HTMLElement; title: HTMLElement; description: HTMLElement }) => void;
}

export interface Driver {
  highlight(step: { element?: Element; popover: Popover }): void;
  refresh(): void;
  destroy(): void;
}

export function driver(options: {
  animate: boolean;
  smoothScroll: boolean;
  allowClose: boolean;
  allowKeyboardControl: boolean;
  overlayOpacity: number;
  stagePadding: number;
  stageRadius: number;
  onHighlighted: (element?: Element) => void;
}): Driver;
