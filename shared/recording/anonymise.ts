import type { Redactor } from "../secret-forms.ts";
import { ruleOf, VERSION_NAME, VOCABULARY } from "./names.ts";
import { type IdentityKind, isFiller, Pseudonyms } from "./pseudonyms.ts";

/** Headers that say how a BMC behaves; no other is kept. */
const HEADERS = new Set(
  `accept accept-encoding allow cache-control connection content-encoding content-length content-type etag if-match link location
  odata-version preference-applied retry-after server transfer-encoding www-authenticate`
    .split(/\s+/)
    .filter((name) => name !== ""),
);

const LONGEST_TEXT = 2_048;
const LONGEST_SPOKEN = 64;
const LONGEST_SECRET = 256;
const MOST_PHRASES = 500;
/** Shorter values are in too many other words. */
const SHORTEST_FOUND = 4;

/*
 * A machine's texts are an attacker's: each pattern takes time in proportion to the text. One that starts with a repetition looks
 * behind, so that it is tried once per run of characters.
 */
const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;
const MAC =
  /(?<![0-9a-f:-])[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?:(?:\1[0-9a-f]{2}){2})?(?![0-9a-f:-])/gi;
const OCTET = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = new RegExp(`(?<![\\w.-])${OCTET}(?:\\.${OCTET}){3}(?![\\w-]|\\.\\d)`, "g");
/** With all eight groups, or with `::`; a MAC address and a time of day are none. */
const IPV6 =
  /(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*)?::(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*)?)(?![\w:])/gi;
const EMAIL = /(?<![\w.+-])[\w.+-]+@(?!odata\.|Redfish\.|Message\.)[\w-]+(?:\.[\w-]+)+/g;
const URL_LOGIN = /(?<=:\/\/)[^\s/@]+@/g;
const URL_HOST = /(?<=:\/\/)[^\s/:?#[\]]+/g;
/** The server of a share: `//host/share/x.iso`, `\\\\host\\share\\x.iso`, `host:/export/x.iso`. */
const SHARE_HOST =
  /((?:^|[\s"'(])(?:\/\/|\\\\))([a-z0-9][a-z0-9.-]*)(?=[/\\])|((?:^|[\s"'(]))([a-z0-9][a-z0-9.-]+)(?=:\/[^/])/gi;
const PEM = /-----BEGIN[\s\S]*?(-----END [^-]*-----|$)/g;
/** Random text: a hash, a key or an encoded value. */
const RANDOM = /(?<![\w+=-])(?=[A-Za-z+]*\d)[A-Za-z0-9+_]{32,}={0,2}/g;
/** Who or what a sentence is about. */
const SUBJECTS = /(\b(?:users?|accounts?|host(?:name)?|using|from|by|login)\b[ :=]+)(["']?)([^\s"',;]+)\2/gi;
/** Around what is set aside; for private use in Unicode. */
const ASIDE = ["\uE000", "\uE001"];
/** Also what follows in the names of IPMI's commands, such as Get User Access. */
const NO_SUBJECT =
  /^(the|an?|this|its|all|is|see|your|via|access|name|password|payload|may|can|must|has|does|not|or|and)[:.]?$/i;
const WORD = /^[\p{L}\p{N}_.-]+$/u;
const QUOTED = /"([^"\n]{3,})"|'([^'\n]{3,})'/g;
const LINK = /^\/[\w$@.~#/()%:,;=+-]*(\?[^\s]*)?$/;
const PUBLIC_HOSTS = /(^|\.)(dmtf\.org|oasis-open\.org|odata\.org|w3\.org|snia\.org)$/i;
const NUMBER = /^(0x[0-9a-f]{1,8}|[-+]?\d{1,5}(\.\d+)?%?)$/i;
const MOMENT = /^(\d{4}-\d{2}-\d{2}([T ][\d:.]+(Z|[+-]\d{2}:?\d{2})?)?|[+-]\d{2}:\d{2})$/i;
const DURATION =
  /^P(?=T?\d)(\d{1,9}Y)?(\d{1,9}M)?(\d{1,9}W)?(\d{1,9}D)?(T(\d{1,9}H)?(\d{1,9}M)?(\d{1,9}(\.\d{1,9})?S)?)?$/;

/** What may leave a machine: see docs/how-to/record-a-bmc.md. */
export class Anonymiser {
  readonly #pseudonyms: Pseudonyms;
  readonly #redact: Redactor;
  /** Values of fields that identify, in lower case, to find them in other texts. */
  readonly #found = new Map<string, IdentityKind | "secret">();
  /** Secrets that are not one word. */
  readonly #phrases = new Set<string>();
  /** Words of field names and lists of allowed values: a value made of them is one of a specification. */
  readonly #words = new Set<string>();
  readonly #values = new Set<string>();
  /** Most texts of a tree are met often. */
  readonly #texts = new Map<string, string>();
  #removed = 0;

  constructor(redact: Redactor, pseudonyms = new Pseudonyms()) {
    this.#redact = redact;
    this.#pseudonyms = pseudonyms;
  }

  /** How many values were replaced or removed, by kind. */
  get replaced(): Readonly<Record<string, number>> {
    return { ...this.#pseudonyms.counts, ...(this.#removed > 0 ? { secret: this.#removed } : {}) };
  }

  /** Notes a value that identifies, such as the login's user, wherever it will be met. */
  note(kind: IdentityKind, value: string): void {
    const text = value.trim();
    if (text.length >= SHORTEST_FOUND && !isFiller(text) && !VOCABULARY.has(text.toLowerCase())) {
      this.#found.set(text.toLowerCase(), kind);
    }
  }

  /** Looks through everything that will be written, before any of it is. */
  collect(value: unknown, field = "", inherited?: IdentityKind | "secret"): void {
    if (Array.isArray(value)) {
      for (const entry of value) this.collect(entry, field, inherited);
    } else if (typeof value === "object" && value !== null) {
      for (const [name, entry] of Object.entries(value)) {
        for (const word of wordsOf(name)) this.#words.add(word);
        this.collect(entry, name, below(ruleOf(field)) ?? inherited);
      }
    } else if (typeof value === "string") {
      const rule = this.#rule(field, inherited);
      if (rule === "secret" && !isHarmless(value)) this.#noteSecret(value);
      if (/allowablevalues|supportedvalues|^valuename$/i.test(field)) this.#values.add(value);
      if (isIdentity(rule) && rule !== "location") this.note(rule, value);
    }
  }

  #noteSecret(value: string): void {
    if (value.length < SHORTEST_FOUND || value.length > LONGEST_SECRET) return;
    if (WORD.test(value)) this.#found.set(value.toLowerCase(), "secret");
    else if (this.#phrases.size < MOST_PHRASES) this.#phrases.add(value);
  }

  /** A value as it may be written. */
  value(value: unknown, field = "", inherited?: IdentityKind | "secret"): unknown {
    if (Array.isArray(value)) return value.map((entry) => this.value(entry, field, inherited));
    if (typeof value === "object" && value !== null) {
      const next = below(ruleOf(field)) ?? inherited;
      return Object.fromEntries(
        Object.entries(value).map(([name, entry]) => [this.#name(name), this.value(entry, name, next)]),
      );
    }
    if (typeof value === "string") return this.#string(value, field, inherited);
    return typeof value === "number" ? this.#number(value, field, inherited) : value;
  }

  /** Whether what a field of this name holds is never written. */
  isSecret(field: string): boolean {
    return ruleOf(field) === "secret";
  }

  /** A path, whose parts may name an account or hold a serial number. */
  path(path: string): string {
    return path
      .split(/(\/(?:Accounts|Sessions)\/)([^/?#]+)/i)
      .map((part, index) => {
        if (index % 3 !== 2) return this.#known(this.#redact(part), true);
        const isNumber = /^\d+$/.test(part);
        return isNumber ? part : this.#pseudonyms.of("user name", decoded(part));
      })
      .join("");
  }

  headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const kept = Object.entries(headers).filter(([name]) => HEADERS.has(name.toLowerCase()));
    return Object.fromEntries(kept.map(([name, value]) => [name, this.#header(name, value)]));
  }

  /** A text without what identifies. */
  text(text: string, isVersion = false): string {
    const key = `${isVersion}${text}`;
    const cached = this.#texts.get(key);
    if (cached !== undefined) return cached;
    const shown = this.#text(text, isVersion);
    this.#texts.set(key, shown);
    return shown;
  }

  #text(text: string, isVersion: boolean): string {
    // What was replaced is set aside, so that no stand-in is taken for an original.
    const aside: string[] = [];
    const put = (shown: string) => `${ASIDE[0]}${aside.push(shown) - 1}${ASIDE[1]}`;
    const replace = (kind: IdentityKind) => (found: string) => put(this.#pseudonyms.of(kind, found));
    const shown = this.#redact(text)
      .replaceAll(/[\uE000\uE001]/g, "")
      .replace(PEM, () => put("[removed]"))
      .replace(URL_LOGIN, "")
      .replace(URL_HOST, (host) =>
        PUBLIC_HOSTS.test(host) || /^[\d.]+$/.test(host) ? host : put(this.#pseudonyms.of("host name", host)),
      )
      .replace(SHARE_HOST, (whole, slashes = "", server = "", before = "", nfs = "") =>
        /^[\d.]+$/.test(server + nfs)
          ? whole
          : `${slashes}${before}${put(this.#pseudonyms.of("host name", server + nfs))}`,
      )
      .replace(EMAIL, replace("user name"))
      .replace(UUID, replace("UUID"))
      .replace(MAC, replace("MAC address"))
      .replace(IPV6, replace("address"))
      .replace(IPV4, (found) => (isVersion ? found : put(this.#pseudonyms.of("address", found))))
      .replace(RANDOM, replace("text"));
    return this.#known(shown, isVersion).replace(
      /\uE000(\d+)\uE001/g,
      (_, index: string) => aside[Number(index)] ?? "",
    );
  }

  /** What a person or a log wrote. */
  freeText(text: string): string {
    // A field's value that the text repeats has its stand-in already.
    const isHidden = (found: string) => found.length >= SHORTEST_FOUND && this.#pseudonyms.isStandIn(found);
    const hide = (found: string) =>
      this.#isVocabulary(found) || isHidden(found) ? found : this.#pseudonyms.of("text", found);
    return this.text(text)
      .replace(QUOTED, (whole, double?: string, single?: string) =>
        whole.replace(double ?? single ?? "", (inner) => hide(inner)),
      )
      .replace(SUBJECTS, (whole, lead: string, quote: string, subject: string) =>
        this.#areKnown(wordsOf(subject)) || NO_SUBJECT.test(subject) || subject.startsWith("/")
          ? whole
          : `${lead}${quote}${hide(subject)}${quote}`,
      );
  }

  #header(name: string, value: string): string {
    switch (name.toLowerCase()) {
      case "location": {
        const [, origin = "", path = ""] = /^([a-z]+:\/\/[^/]*)?(.*)$/is.exec(value) ?? [];
        return this.text(origin) + this.path(path);
      }
      case "etag":
      case "if-match":
        return value.replace(/[A-Za-z0-9+/=]{4,}/g, (tag) => this.#pseudonyms.of("text", tag));
      case "www-authenticate":
        return challengeIn(value);
      default:
        return this.text(value);
    }
  }

  #string(value: string, field: string, inherited: IdentityKind | "secret" | undefined): unknown {
    const cut = value.slice(0, LONGEST_TEXT);
    if (field === "@odata.etag") return this.#header("etag", cut);
    if (field.startsWith("@odata.") || (value.startsWith("/redfish/") && LINK.test(cut))) {
      return cut.startsWith("/") ? this.path(cut) : this.text(cut, true);
    }
    const rule = this.#rule(field, inherited);
    if (rule === "secret") {
      if (value === "" || isHarmless(value)) return value;
      this.#removed++;
      return null;
    }
    if (isIdentity(rule)) {
      if (rule === "address" && VOCABULARY.has(cut.toLowerCase())) return cut;
      const isName = rule === "address" && !/^([\d.]+|(?=.*:)[0-9a-f:]+)$/i.test(cut);
      return this.#pseudonyms.of(isName ? "host name" : rule, this.#redact(cut));
    }
    if (rule === "free text") return this.freeText(cut);
    const isOf = this.#isVocabulary(cut) || [NUMBER, MOMENT, DURATION, LINK].some((form) => form.test(cut));
    if (rule === "allowed" || isOf) return this.text(cut, VERSION_NAME.test(field) || LINK.test(cut));
    return this.#pseudonyms.of("text", this.#redact(cut));
  }

  #number(value: number, field: string, inherited: IdentityKind | "secret" | undefined): number | null {
    const rule = this.#rule(field, inherited);
    if (rule === "secret") {
      this.#removed++;
      return null;
    }
    if (!isIdentity(rule) || rule === "address" || Math.abs(value) < 10_000) return value;
    return Number(this.#pseudonyms.of(rule, String(value)));
  }

  #name(name: string): string {
    const cut = name.slice(0, LONGEST_TEXT);
    return cut.includes("/") ? this.path(cut) : this.text(cut, true);
  }

  #rule(field: string, inherited: IdentityKind | "secret" | undefined) {
    const rule = ruleOf(field);
    return inherited !== undefined && rule !== "secret" && !field.startsWith("@odata.") ? inherited : rule;
  }

  /** Replaces what fields that identify have held, and removes what secret ones have. */
  #known(text: string, isVersion: boolean): string {
    let shown = text;
    for (const phrase of this.#phrases)
      if (shown.includes(phrase)) shown = shown.replaceAll(phrase, this.#hidden());
    const replaceWord = (word: string) => {
      const kind = this.#found.get(word.toLowerCase());
      if (kind === "secret") return this.#hidden();
      if (kind === undefined || (isVersion && kind === "user name")) return undefined;
      return this.#pseudonyms.of(kind, word);
    };
    return shown.replace(
      /[^\s"'/,;()[\]=<>?&|]+/g,
      (token) =>
        replaceWord(token) ??
        token.replace(/[\p{L}\p{N}_.-]+/gu, (part) => replaceWord(part) ?? this.#parts(part, replaceWord)),
    );
  }

  #hidden(): string {
    this.#removed++;
    return "[redacted]";
  }

  #parts(token: string, replaceWord: (word: string) => string | undefined): string {
    return token.replace(/[\p{L}\p{N}]+/gu, (part) => replaceWord(part) ?? part);
  }

  #isVocabulary(value: string): boolean {
    if (VOCABULARY.has(value.toLowerCase()) || this.#values.has(value) || isFiller(value)) return true;
    if (value.length > LONGEST_SPOKEN || !SPOKEN.test(value)) return false;
    const words = wordsOf(value);
    return words.length > 1 && this.#areKnown(words);
  }

  #areKnown(words: readonly string[]): boolean {
    return words.every((word) => VOCABULARY.has(word) || this.#words.has(word));
  }
}

/** `RestoreLastState`, `Upper Non-Critical` */
const SPOKEN = /^[A-Z](?=[A-Z]*[a-z])[A-Za-z]*([ -][A-Z][A-Za-z]*)*$/;

const IDENTITY_RULES: readonly string[] = [
  "address",
  "asset tag",
  "host name",
  "licence",
  "location",
  "MAC address",
  "serial number",
  "user name",
  "UUID",
];

function isIdentity(rule: string): rule is IdentityKind {
  return IDENTITY_RULES.includes(rule);
}

/** What a field says of everything below it. */
function below(rule: string): IdentityKind | "secret" | undefined {
  return rule === "secret" ? "secret" : undefined;
}

/** Schemes and what a digest may be, each of a known word. */
const CHALLENGE =
  /\b(?:(?:Basic|Bearer|Digest|Negotiate|Session)(?=[\s,]|$)|stale="?(?:true|false)"?|algorithm="?(?:MD5|SHA-256|SHA-512-256)(?:-sess)?"?|qop="?auth(?:-int)?(?:, ?auth(?:-int)?)?"?)/gi;

/** A realm names the machine, and a nonce is part of a login. */
function challengeIn(value: string): string {
  return (value.match(CHALLENGE) ?? []).join(" ");
}

function isHarmless(value: string): boolean {
  return (
    VOCABULARY.has(value.toLowerCase()) ||
    isFiller(value) ||
    (LINK.test(value) && value.startsWith("/redfish/"))
  );
}

function wordsOf(name: string): readonly string[] {
  return (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []).map((word) => word.toLowerCase());
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
