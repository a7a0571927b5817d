// Where the page begins: which source answers, then everything else.

import { App } from "./app.js";
import { DATA, FileSource } from "./file.js";
import { ServerSource } from "./server.js";

const data = document.getElementById(DATA);
new App(data ? new FileSource(data.textContent) : new ServerSource()).start();
