// Counts the words of texts as the single file does: node count_words.mjs SOURCE ASKED, where SOURCE
// is page/file/words.js and ASKED a JSON file of what its class Words takes, and texts.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [source, asked] = process.argv.slice(2);
const { Words } = await import(pathToFileURL(source));
const { cutting, words, spelt, columns, pairs, texts } = JSON.parse(readFileSync(asked, "utf-8"));
const table = new Words(cutting, words, spelt, columns, pairs);
const found = texts.map((text) => ({ cut: table.cut(text), searched: table.searched(text), ...table.count(text) }));
process.stdout.write(JSON.stringify(found));
