import { expect, it } from "vitest";
import { withoutEndSlashes } from "../../../shared/end-slashes.ts";
import { Anonymiser } from "../../../shared/recording/anonymise.ts";
import { redactor } from "../../../shared/secret-forms.ts";

/** What patterns repeat, and what they begin with. */
const PARTS = [
  ...[
    "a",
    "A",
    "1",
    "T1",
    "é",
    " ",
    "\n",
    ".",
    "-",
    "_",
    "/",
    ":",
    "::",
    "://",
    "@",
    "=",
    "+",
    "#",
    "?",
    "%",
    '"',
    "'",
  ],
  ...["expir", "ipdns", "by ", "user", "Serial", "-----BEGIN", "-----END ", "/Accounts/"],
];
const PAIRS = ["a-", "a.", "1/", "1.", "a:", "a@", "A a", '="'];
const STARTS = ["", "P", "/", '"', "A"];
/** Each kind of field. */
const FIELDS = [
  "Message",
  "Address",
  "UUID",
  "MACAddress",
  "SerialNumber",
  "Name",
  "FirmwareVersion",
  "Other",
  "@odata.id",
];

const [TINY, SHORT, LONG] = [16, 4_096, 16_384];
/** The longest value of a field that is looked at. */
const [SHORT_VALUE, LONG_VALUE, TIMES] = [512, 2_048, 2];
/** Below this, the processor's time says nothing. */
const NOTHING_MS = 60;
/** Four times the length takes four times the time, sixteen times as long in a quadratic pattern. */
const MOST_GROWTH = 9;

const cpuMs = (run: () => void) => {
  const before = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};

/** Whether four times the length takes about four times the processor's time. */
function isLinear(run: (length: number) => void, short: number, long: number): boolean {
  // Compiled before it is measured. An exponential pattern would never end with more.
  run(TINY);
  if (cpuMs(() => run(TINY)) > NOTHING_MS) return false;
  return [1, 2, 3].some(() => {
    const ms = cpuMs(() => run(long));
    return ms < NOTHING_MS || ms < MOST_GROWTH * cpuMs(() => run(short));
  });
}

function longTexts(text: string): void {
  const anonymiser = new Anonymiser(redactor({}));
  anonymiser.text(text);
  anonymiser.text(text, "version");
  anonymiser.text(text, "model");
  anonymiser.path(text);
  anonymiser.headers({ location: text, etag: text, server: text, "www-authenticate": text });
  anonymiser.collect({ [text]: "a value" });
  anonymiser.value({ [text]: "a value", [`${text}Password`]: 1, [`A@${text}`]: "other" });
  withoutEndSlashes(text);
}

function values(textOf: (index: number) => string): void {
  const anonymiser = new Anonymiser(redactor({}));
  const fields = FIELDS.map((field) => [field, Array.from({ length: TIMES }, (_, index) => textOf(index))]);
  const body = Object.fromEntries(fields);
  anonymiser.collect(body);
  anonymiser.value(body);
}

it.each([...PARTS, ...PAIRS])("anonymising takes time in proportion to a text that repeats %j", (part) => {
  const frames = [...STARTS.map((start) => [start, "!"] as const), ["", "\n!"] as const];
  const slow = frames.flatMap(([start, end]) => {
    const text = (length: number) => `${start}${part.repeat(Math.ceil(length / part.length))}${end}`;
    const isQuick =
      isLinear((length) => longTexts(text(length)), SHORT, LONG) &&
      isLinear((length) => values((index) => text(length - index - 3)), SHORT_VALUE, LONG_VALUE);
    return isQuick ? [] : [text(part.length * 3)];
  });

  expect(slow).toEqual([]);
});
