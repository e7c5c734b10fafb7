// Texts with a value each, to be found character by character.
export class PrefixTree {
  root = { next: new Map() };

  add(text, value) {
    let node = this.root;
    for (const character of text) {
      node.next ??= new Map();
      if (!node.next.has(character)) node.next.set(character, {});
      node = node.next.get(character);
    }
    node.value = value;
  }

  // How many characters the longest text has that begins at a place of the characters; 0 if none does.
  longest(characters, at) {
    let length = 0;
    for (let end = at, node = this.root.next.get(characters[at]); node; node = node.next?.get(characters[end])) {
      end++;
      if (node.value !== undefined) length = end - at;
    }
    return length;
  }
}
