/*
 * Settings kept by this browser. Without storage they are lost with the next load.
 *
 * load(key)           the text; null without one
 * store(key, text)
 */
export function load(key) {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function store(key, text) {
  try {
    window.localStorage.setItem(key, text);
  } catch {
    // The browser keeps no settings, or no more of them.
  }
}
