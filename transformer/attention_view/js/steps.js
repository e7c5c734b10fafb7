// The stage in a page of its own, which holds a whole decoding, and steps.
import CONTROLS from "#view/controls/controls.css";
import PLACES from "#view/stage/places.css";
import STAGE from "#view/stage/stage.css";
import VIEW from "#view/view/view.css";
import { freeKeys } from "#view/controls/focus.js";
import { dress, part } from "#view/elements.js";
import { held } from "#view/held.js";
import { unpack } from "#view/message.js";
import { mountPath } from "#view/stage/path.js";
import { caption } from "#view/view/words.js";

const [root, data] = await held();
dress(root, VIEW, CONTROLS, STAGE, PLACES);
freeKeys();
mountPath(root, unpack(data));
root.append(part("p", { className: "caption", textContent: caption(root.stage.parts.picture.view)[1] }));
