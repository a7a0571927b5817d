import subprocess

import pytest

from docboltz.explorer.inlining import NotUnderstood, inline_modules
from docboltz.explorer.single_file import PAGE
from tests.explorer.file_answers import NODE, needs_node

MODULES = {
    "main.js": """import { one, two as zwei } from "./lib/numbers.js";
import * as all from './lib/numbers.js';
import three from "./lib/three.js";
import "./lib/effect.js";
import {
  Shape,
  later,
} from "./lib/shapes.js";
const hidden = "main";
const exports = [one, zwei, all.one, three, new Shape().sides, hidden];
later().then((four) => console.log(JSON.stringify([...exports, four, globalThis.effect])));
""",
    "lib/numbers.js": """const hidden = "numbers";
export const one = 1;
const own = 2;
export { own as two, hidden as other };
""",
    "lib/three.js": 'import{one as o}from"./numbers.js";import{two}from"./numbers.js";'
    "const t=o+two;export{t as default};",
    "lib/effect.js": "globalThis.effect = 'done';\n",
    "lib/shapes.js": """export class Shape {
  sides = 4;
}

export async function later() {
  return "later"; // export nothing here
}

/** @param {import("./numbers.js").None} shape */
export function* unused(shape) {}
export default class {}
""",
}


def inlined(**modules):
    return inline_modules({name + ".js": text for name, text in modules.items()}, "main.js")


@needs_node
def test_the_script_does_what_the_modules_do(tmp_path):
    script = tmp_path / "all.js"
    script.write_text(inline_modules(MODULES, "main.js"))
    done = subprocess.run([NODE, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[1,2,1,3,4,"main","later","done"]'


def test_each_module_runs_once_after_those_it_needs():
    found = inline_modules(MODULES, "main.js")
    assert found.count("const own = 2") == 1
    assert found.index("const own = 2") < found.index("const t=o+two") < found.index('"main"')
    assert not any(line.startswith(("import", "export")) for line in found.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "export let count = 0;",
        "export var count = 0;",
        "export const { a, b } = c;",
        'export * from "./other.js";',
        'export { a } from "./other.js";',
        'const a = await import("./other.js");',
        'import("./other.js");',
        "const here = import.meta.url;",
        "await start();",
        "const a = await start();",
        "for await (const a of b) c();",
        'import a from "https://example.org/a.js";',
        'import a from "bare";',
        'import a from "./missing.js";',
        'import a from "./other.js"\nstart();',
        'import a, { b } from "./other.js";',
        'import { "odd name" as a } from "./other.js";',
        'import a from "./other.js" with { type: "json" };',
        '  import a from "./other.js";',
        'import a from "./main.js";',
    ],
)
def test_refuses_what_it_does_not_understand(text):
    with pytest.raises(NotUnderstood):
        inlined(main=text + "\n", other="export const a = 1;\n")


def test_says_which_modules_need_each_other():
    loop = {"main": 'import { b } from "./b.js";\n', "b": 'import { a } from "./main.js";\n'}
    with pytest.raises(NotUnderstood, match=r"main\.js → b\.js → main\.js"):
        inlined(**loop)


def test_understands_the_page():
    texts = {f.relative_to(PAGE).as_posix(): f.read_text() for f in PAGE.rglob("*.js")}
    found = inline_modules(texts, "main.js")
    used = [name for name, text in texts.items() if text.strip().splitlines()[-1] in found]
    assert sorted(used) == sorted(texts)  # no module of the page is left out
