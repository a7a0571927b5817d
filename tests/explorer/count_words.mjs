// Counts the words of texts as the single file does: node count_words.mjs SOURCE ASKED, where SOURCE
// is page/file/words.js and ASKED a JSON file of what its class Words takes, and texts.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [source, asked] = process.argv.slice(2);
const { Words } = await import(pathToFileURL(source));
const { cutting, words, terms, pairs, n, texts } = JSON.parse(readFileSync(asked, "utf-8"));
const table = new Words(cutting, words, terms, pairs, n);
const found = texts.map((text) => ({ cut: table.cut(text), ...table.count(text) }));
process.stdout.write(JSON.stringify(found));
