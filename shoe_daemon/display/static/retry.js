/*
 * Loads the page again if its modules cannot be loaded: the display was upgraded meanwhile, or is
 * away. Not a module, so it runs before them.
 */
window.addEventListener("error", event => {
  if (event.target instanceof HTMLScriptElement) {
    window.setTimeout(() => window.location.reload(), 5000);
  }
}, true);
