// The attention view in a page of its own, which holds its message: nobody is there to be told what is looked at.
import VIEW from "#view/view/view.css";
import { dress } from "#view/elements.js";
import { held } from "#view/embedded_data.js";
import { mount } from "#view/view.js";

const [root, data] = await held();
dress(root, VIEW);
mount(root, data, () => {});
