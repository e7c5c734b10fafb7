// The step view in a page of its own, which holds a whole decoding and steps through it.
import CONTROLS from "#view/step_view/controls.css";
import PLACES from "#view/step_view/places.css";
import STEP_VIEW from "#view/step_view/step_view.css";
import VIEW from "#view/view/view.css";
import { freeKeys } from "#view/step_view/controls.js";
import { dress, part } from "#view/page/elements.js";
import { embeddedMessage, unpack } from "#view/message/message.js";
import { mountPath } from "#view/step_view/path.js";
import { caption } from "#view/view/words/words.js";

const { root, data } = await embeddedMessage();
dress(root, VIEW, CONTROLS, STEP_VIEW, PLACES);
freeKeys();
mountPath(root, unpack(data));
root.append(part("p", { className: "caption", textContent: caption(root.stepView.parts.picture.view)[1] }));
