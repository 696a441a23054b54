/** Every form that the worker promises to find in what an action prints. */
const promised: Readonly<Record<string, (secret: string) => readonly string[]>> = {
  plain: (secret) => [secret],
  JSON: (secret) => [JSON.stringify(secret).slice(1, -1)],
  "HTML entities": (secret) => [
    secret.replaceAll("&", "&amp;").replaceAll('"', "&quot;"),
    secret.replaceAll("&", "&#38;").replaceAll('"', "&#34;"),
    secret.replaceAll("&", "&#x26;").replaceAll('"', "&#x22;"),
  ],
  "percent-encoding": (secret) => [percentEncoded(secret), percentEncoded(secret).replace(/%../g, lower)],
  base64: (secret) => [base64(secret), base64(secret).replaceAll("+", "-").replaceAll("/", "_")],
  hexadecimal: (secret) => [hex(secret), hex(secret).toUpperCase()],
};

/** What else a program may do to a secret before it prints it. Only what never had the secret cannot print these. */
const others: typeof promised = {
  reversed: (secret) => [reversed(secret), reversed(base64(secret)), reversed(hex(secret))],
  "every other character": (secret) => [
    [...secret].join(" "),
    [...secret].join("\\n"),
    [...secret].join("\0"),
  ],
  "character codes": (secret) => [[...Buffer.from(secret)].join(), [...Buffer.from(secret)].join(" ")],
  "base64 inside of other text": (secret) => [1, 2].map((offset) => base64After(secret, offset)),
  rot13: (secret) => [secret.replace(/[a-z]/gi, rot13)],
};

const percentEncoded = (text: string) => encodeURIComponent(text);
const lower = (text: string) => text.toLowerCase();
const base64 = (text: string) => Buffer.from(text).toString("base64").replace(/=+$/, "");
const hex = (text: string) => Buffer.from(text).toString("hex");
const reversed = (text: string) => [...text].toReversed().join("");
const rot13 = (letter: string) => {
  const base = letter <= "Z" ? 65 : 97;
  return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
};
/** What stays the same of it whatever is before and after. */
function base64After(secret: string, offset: number): string {
  const skipped = Math.ceil((offset * 4) / 3);
  return base64(`${"x".repeat(offset)}${secret}`).slice(skipped, -2);
}

export type Reach = "promised" | "all";

/** Looks for a secret in texts, in many forms, also where white space was put in between. */
export class SecretSearch {
  readonly #traces: readonly (readonly [form: string, trace: string])[];

  constructor(secret: string, reach: Reach = "all") {
    const forms = reach === "all" ? { ...promised, ...others } : promised;
    this.#traces = Object.entries(forms).flatMap(([form, write]) =>
      write(secret).map((trace) => [form, trace] as const),
    );
  }

  /** The forms that are there. */
  in(text: string): readonly string[] {
    const dense = text.replace(/\s+|\\n/g, "");
    const found = this.#traces.filter(([, trace]) => text.includes(trace) || dense.includes(trace));
    return [...new Set(found.map(([form]) => form))];
  }
}
