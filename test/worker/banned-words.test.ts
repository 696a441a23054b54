import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stringLiterals } from "../support/string-literals.ts";

const ROOT = join(import.meta.dirname, "../..");
const SOURCE_FOLDERS = ["worker", "shared", "actions", "cli"];
const DEPLOY_FILE = /\.(ya?ml|json|tpl|txt|service|conf|sh)$/;
const COMMENT = /^\s*(#|\/\/|\{\{-?\s*\/\*)/;

/** Words and phrases that are old-fashioned, personify software, or are not the field's terms. */
const EVERYWHERE =
  "whoever|nobody|anybody|to be had|bears|mend(?:s|ed|ing)?|made good|onlookers?|stumbl(?:e|es|ed|ing)|let(?:s|ting)? go of|taken up|at hand|came of|for good|of before|of an earlier life";
/** Names and comments may have these in another sense. */
const IN_TEXTS = "stands|comes? to|a word of|tells";
const WORDS = new RegExp(`\\b(${EVERYWHERE}|${IN_TEXTS})\\b`, "i");
const WORDS_IN_CODE = new RegExp(`\\b(${EVERYWHERE}|somebody|goes on|comes back)\\b`, "i");

const CODE_FOLDERS = [...SOURCE_FOLDERS, "test", "bench", "scripts", "examples"];
/** This test, and folders whose comments and test titles have such words still. */
const NOT_CHECKED = /^test\/worker\/banned-words/;

/** Phrases that were replaced, each with its replacement in use. */
const REPLACED = [
  "lane stumbled, goes on",
  "an onlooker stumbled",
  "letting go of the actions that run",
  "action let go of",
  "report given up",
  "turns of replicas that are gone",
  "was deposed",
  "joins anew",
  "lease ran out",
  "lanes rest",
  "machine of the cluster cannot be used",
  "lanes cannot be taken or given up",
  "its work is done here",
  "cannot be brought on",
  "actions' logs cannot be read",
  "their outcomes stand",
  "what is left of the action",
  "not made good since",
  "What came of it",
  "to have the BMCs looked at",
  "is not to be had",
  "never stands in a template",
  "is the policy's to say",
  "one agent ID a machine",
  "There where",
  "those that nobody sees",
  "that nobody gave any of them",
  "an identity of its own that never comes back",
  "leaves nothing behind of",
  "goes on",
  "will retry",
];

/** Texts with such words that are right as they are, by their exact text, and why. */
const ALLOWED: ReadonlyMap<string, string> = new Map([]);

interface Text {
  readonly where: string;
  readonly text: string;
}

const files = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));

const linesOf = (file: string): readonly Text[] =>
  readFileSync(join(ROOT, file), "utf8")
    .split("\n")
    .map((text, index) => ({ where: `${file}:${index + 1}`, text }));

function textsOfSource(folder: string): readonly Text[] {
  return files(folder)
    .filter((file) => file.endsWith(".ts") && !file.includes("/gen/"))
    .flatMap((file) =>
      stringLiterals(readFileSync(join(ROOT, file), "utf8")).map(({ line, text }) => ({
        where: `${file}:${line}`,
        text,
      })),
    );
}

function textsOfDeployment(): readonly Text[] {
  return files("deploy")
    .filter((file) => DEPLOY_FILE.test(file))
    .flatMap(linesOf)
    .filter(({ text }) => !COMMENT.test(text));
}

function isBanned(text: string): boolean {
  return WORDS.test(text) || REPLACED.some((phrase) => text.includes(phrase));
}

const violations = (texts: readonly Text[]): readonly string[] =>
  texts
    .filter(({ text }) => !ALLOWED.has(text) && isBanned(text))
    .map(({ where, text }) => `${where}: ${text.slice(0, 200)}`);

describe("the texts that people read", () => {
  it.each(SOURCE_FOLDERS)("have no banned word or phrase in %s/", (folder) => {
    const texts = textsOfSource(folder);

    expect(texts.length).toBeGreaterThan(50);
    expect(violations(texts)).toEqual([]);
  });

  it.each(CODE_FOLDERS)("have none in comments and test titles in %s/", (folder) => {
    const lines = files(folder)
      .filter((file) => file.endsWith(".ts") && !file.includes("/gen/") && !NOT_CHECKED.test(file))
      .flatMap(linesOf);

    expect(lines.filter(({ text }) => WORDS_IN_CODE.test(text))).toEqual([]);
  });

  it("have none in deploy/", () => {
    const texts = textsOfDeployment();

    expect(texts.length).toBeGreaterThan(50);
    expect(violations(texts)).toEqual([]);
  });

  it("have none in the pages, nor in the READMEs", () => {
    const names = [
      "README.md",
      "CONTRIBUTING.md",
      "SECURITY.md",
      ...["docs", "actions", "deploy", "examples"].flatMap(files),
    ];
    const texts = names.filter((name) => name.endsWith(".md")).flatMap(linesOf);

    expect(texts.length).toBeGreaterThan(1_000);
    expect(violations(texts)).toEqual([]);
  });

  it("are found to break the rules when they do", () => {
    const source = [
      'log.warn({}, "an onlooker stumbled"); // nobody',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source
      'const fine = /nobody/.test("it is well") ? `a ${tells("it tells")}` : "";',
    ].join("\n");

    expect(violations(stringLiterals(source).map(({ text }) => ({ where: "here", text })))).toEqual([
      "here: an onlooker stumbled",
      "here: it tells",
    ]);
  });

  it("need every exception", () => {
    const all = new Set(
      [...SOURCE_FOLDERS.flatMap(textsOfSource), ...textsOfDeployment()].map(({ text }) => text),
    );

    expect([...ALLOWED.keys()].filter((text) => !all.has(text) || !isBanned(text))).toEqual([]);
  });
});
