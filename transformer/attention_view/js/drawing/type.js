// The type of all that is drawn: its family, its sizes, and whether it has come.
import DESIGN from "#view/drawing/design.json";

export const FONT = DESIGN.font;
export const SMALL = DESIGN.type.small; // px, as all of these
export const BODY = DESIGN.type.body;
export const LARGE = DESIGN.type.large;
export const TITLE = DESIGN.type.title;
export const DISPLAY = DESIGN.type.display;

const USED = [400, DESIGN.bold].map((weight) => `${weight} ${SMALL}px ${FONT}`);

// Whether widths are those of the page's font, which comes after the page.
export const typeHasCome = () => USED.every((font) => globalThis.document?.fonts?.check?.(font) ?? true);
export const whenTypeHasCome = () => Promise.all(USED.map((font) => document.fonts.load(font)));
