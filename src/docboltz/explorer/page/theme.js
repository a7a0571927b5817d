// Light or dark: as the system says, until a person says otherwise.

const KEY = "docboltz-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Kept by the browser where it lets a page keep anything: a file may not. */
function kept() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

export function switchTheme() {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // it lasts as long as the page does
  }
  dispatchEvent(new Event("themechange"));
}

/** Call when it becomes light or dark. */
export function onTheme(action) {
  const before = kept();
  if (before === "light" || before === "dark") document.documentElement.dataset.theme = before;
  addEventListener("themechange", action);
  system.addEventListener("change", action);
}
