// A table as a file that spreadsheets open, made in the browser.

const TEXT = /[",\r\n]/;
const FORMULA = /^[=+\-@\t\r]/; // what a spreadsheet would compute

/** One field: never a formula, in quotes where it must be. */
export function field(value) {
  const text = String(value ?? "");
  const safe = typeof value !== "number" && FORMULA.test(text) ? `'${text}` : text;
  return TEXT.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** @param {string[]} names @param {any[][]} rows */
export function table(names, rows) {
  return [names, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

/** Let the browser save a text under a name. */
export function save(name, text, type = "text/csv;charset=utf-8") {
  const address = URL.createObjectURL(new Blob(["\ufeff", text], { type })); // or Excel takes it for Latin-1
  const link = document.createElement("a");
  [link.href, link.download] = [address, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
