// The attention view in a page of its own, which holds its message; no Python hears what is chosen.
import VIEW from "#view/view/view.css";
import { dress } from "#view/page/elements.js";
import { embeddedMessage } from "#view/message/message.js";
import { mount } from "#view/view/view.js";

const { root, data } = await embeddedMessage();
dress(root, VIEW);
mount(root, data, () => {});
