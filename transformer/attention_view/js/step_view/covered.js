// A message whose next token is to be guessed.

// What is predicted is not to be seen: rows are then named by the token read alone.
export function withoutNext(message) {
  const kinds = Object.entries(message.kinds).map(([kind, info]) => [kind, { ...info, makes: undefined }]);
  return { ...message, kinds: Object.fromEntries(kinds) };
}
