// Answers questions as the single file does: node ask_file.mjs SOURCE DATA QUESTIONS, where SOURCE
// is page/file.js, DATA what `pack` gave, and QUESTIONS a JSON list of [method, ...arguments].

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [source, data, questions] = process.argv.slice(2);
const { FileSource } = await import(pathToFileURL(source));
const file = new FileSource(readFileSync(data, "utf-8"));
const answers = [];
for (const [method, ...given] of JSON.parse(readFileSync(questions, "utf-8"))) {
  try {
    answers.push({ answer: await file[method](...given) });
  } catch (error) {
    answers.push({ error: error.message });
  }
}
process.stdout.write(JSON.stringify(answers));
