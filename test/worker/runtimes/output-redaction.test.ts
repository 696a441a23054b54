import fc from "fast-check";
import { expect, test } from "vitest";
import { Secret } from "../../../shared/secret.ts";
import { redactor } from "../../../shared/secret-forms.ts";
import { LogStream } from "../../../worker/runtimes/log-stream.ts";

const LONGEST_LINE = 16 * 1024;

/** How a text is written: its parts, and how many of them in a row must never be seen. */
interface Written {
  readonly parts: readonly string[];
  readonly most: number;
}

const perCharacter = (write: (character: string) => string) => (text: string) => ({
  parts: Array.from(text, write),
  most: 3,
});
const codeOf = (character: string) => character.charCodeAt(0);
const hexOf = (character: string) => codeOf(character).toString(16);
const base64 = (alphabet: BufferEncoding, before: number, columns: number) => (text: string) => {
  const bytes = Buffer.concat([Buffer.alloc(before, "#"), Buffer.from(text), Buffer.from("##")]);
  return {
    parts: [...(bytes.toString(alphabet).match(new RegExp(`.{1,${columns}}`, "g")) ?? []).join("\n")],
    most: 7,
  };
};

const NOTATIONS: Readonly<Record<string, (text: string) => Written>> = {
  plain: perCharacter((character) => character),
  json: perCharacter((character) => JSON.stringify(character).slice(1, -1)),
  escapes: perCharacter((character) => `\\u${hexOf(character).padStart(4, "0")}`),
  percent: perCharacter((character) => `%${hexOf(character).padStart(2, "0")}`),
  "mixed percent": perCharacter((character) =>
    codeOf(character) % 2 === 0 ? encodeURIComponent(character) : `%${hexOf(character).padStart(2, "0")}`,
  ),
  "decimal entities": perCharacter((character) => `&#${codeOf(character)};`),
  "hexadecimal entities": perCharacter((character) => `&#x${hexOf(character).toUpperCase()};`),
  hex: perCharacter((character) => hexOf(character).padStart(2, "0")),
  ...Object.fromEntries(
    [0, 1, 2].flatMap((before) => [
      [`base64 after ${before}`, base64("base64", before, 1_000)],
      [`base64url after ${before}`, base64("base64url", before, 1_000)],
      [`base64 after ${before} in lines of 64`, base64("base64", before, 64)],
      [`base64 after ${before} in lines of 76`, base64("base64", before, 76)],
    ]),
  ),
};

const secrets = fc
  .string({ unit: fc.constantFrom(..."abcXYZ0189!$%&/()=?+-_.:;<>'\"\\ {}"), minLength: 10, maxLength: 60 })
  .filter(
    (text) => text.trim() === text && !/\s\s/.test(text) && new Set(text).size > 6 && !text.includes(".."),
  );
/** Characters that are in no secret and in no notation of one. */
const others = fc.string({ unit: fc.constantFrom("#", "~", "|", " ", "\n"), maxLength: 200 });

function printed(secret: string, text: string, cuts: readonly number[]): string {
  const lines: string[] = [];
  const log = new LogStream({
    onLog: ({ line }) => lines.push(line),
    redactor: redactor({ username: "root", password: new Secret(secret) }),
  });
  const bytes = Buffer.from(text);
  const borders = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length];
  for (const [index, end] of borders.slice(1).entries())
    log.write("stderr", bytes.subarray(borders[index], end));
  log.end();
  return lines.join("\n").replaceAll("[redacted]", "\u0000");
}

test.each(Object.keys(NOTATIONS))("no revealing part of a secret is printed, %s", (notation) => {
  fc.assert(
    fc.property(
      secrets,
      others,
      others,
      fc.array(fc.nat(), { maxLength: 5 }),
      (secret, before, after, cuts) => {
        const { parts, most } = NOTATIONS[notation]?.(secret) ?? { parts: [], most: 0 };

        const output = printed(secret, `${before}\n#${parts.join("")}#${after}`, cuts);

        for (let from = 0; from + most < parts.length; from += 1)
          expect(output).not.toContain(parts.slice(from, from + most + 1).join(""));
      },
    ),
    { numRuns: 60 },
  );
});

test("a secret in a line that is cut leaves nothing that reveals it", () => {
  const secret = "hunter2-and-Some-More";
  for (let room = 1; room < secret.length; room += 1) {
    const output = printed(secret, `${"#".repeat(LONGEST_LINE - room)}${secret} and more\nnext`, []);

    expect(output).not.toContain("hunt");
    expect(output).toMatch(/characters cut\]\nnext$/);
  }
});

test("a secret in lines of stdout and stderr in turn is not printed to its end", () => {
  const lines: string[] = [];
  const secret = "hunter2-and-Some-More";
  const log = new LogStream({
    onLog: ({ line }) => lines.push(line),
    redactor: redactor({ username: "root", password: new Secret(secret) }),
  });
  for (const [index, part] of (secret.match(/.{1,3}/g) ?? []).entries()) {
    log.write(index % 2 === 0 ? "stdout" : "stderr", Buffer.from(`${part}\n`));
  }
  log.end();

  // The first pieces are printed before they can be recognised.
  expect(lines.join("")).not.toMatch(/Som|e-M|ore/);
});

test("a secret of several lines leaves none of them", () => {
  const secret = "alpha beta\ngamma delta\nepsilon";

  expect(printed(secret, `one\n${secret}\ntwo\n`, [])).toBe("one\n\u0000\n\u0000\n\u0000\ntwo");
});

test("a secret that is printed backwards is not found: a trusted image can print its own as it likes", () => {
  const backwards = "eroM-emoS-dna-2retnuh";

  expect(printed("hunter2-and-Some-More", `${backwards}\n`, [])).toBe(backwards);
});
