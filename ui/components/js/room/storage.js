// What is known of a room when the page is loaded again; a browser may keep nothing.

export function remember({ code }, name, on = true) {
  try {
    if (on) sessionStorage.setItem(`room ${code} ${name}`, "1");
    else sessionStorage.removeItem(`room ${code} ${name}`);
  } catch {
    // then a room that has ended is one that never was
  }
}

export function remembered({ code }, name) {
  try {
    return sessionStorage.getItem(`room ${code} ${name}`) !== null;
  } catch {
    return false;
  }
}
