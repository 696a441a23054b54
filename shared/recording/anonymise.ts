import type { Redactor } from "../secret-forms.ts";
import {
  type FieldRole,
  type IdentityKind,
  isKnown,
  isKnownWord,
  isMeasured,
  isPlainValue,
  isPublicHost,
  isShort,
  knownForms,
  roleOf,
} from "./allow-list.ts";
import { StandIns } from "./stand-ins.ts";

/** Headers that describe how a BMC behaves. No other header is kept. */
const HEADERS = new Set(
  `accept accept-encoding allow cache-control connection content-encoding content-type etag if-match link location odata-version
  preference-applied retry-after server transfer-encoding www-authenticate`.split(/\s+/),
);

const LONGEST_TEXT = 2_048;
const LONGEST_FOUND = 256;
const MOST_FOUND = 20_000;
const LONGEST_CACHED = 64;
const MOST_CACHED = 50_000;
/** The limit on the depth of nesting. Deeper values, and codes inside codes, are left out. */
const MOST_LEVELS = 100;
const MOST_DECODED = 4;
/** The limit on the amount of text, ten times that of the largest machines. The rest is left out. */
const MOST_CHARACTERS = 8 * 1_048_576;
const REMOVED = "[removed]";
/** Short words in a row with this many letters and digits may be an address, a key or a number. */
const SHORTEST_RUN = 6;
/** A number up to this may be part of a PIN, but is not a PIN. */
const LARGEST_FREE = 999;

/**
 * The patterns take linear time. A pattern that starts with a repetition uses a lookbehind, so that it is tried once per run
 * of characters.
 */
const OCTET = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const FORMS = {
  pem: "-----BEGIN[^]*?(?:-----END [^-]*-----|$)",
  host: "(?<=:\\/\\/)(?:[^\\s\\/@]+@)?[^\\s\\/:?#[\\]]+",
  share: `(?<=(?:^|[\\s"'(])(?:\\/\\/|\\\\\\\\))[a-z\\d][a-z\\d.-]*(?=[\\/\\\\])|(?<![\\w.:\\/-])[a-z\\d][a-z\\d.-]+(?=:\\/[^\\/])`,
  percent: "(?<![\\w.~%-])[\\w.~-]*(?:%[\\da-f]{2}[\\w.~-]*)+",
  email: "(?<![\\w.+-])[\\w.+-]+@(?!odata\\.|redfish\\.|message\\.)[\\w-]+(?:\\.[\\w-]+)+",
  subject:
    "(?<=\\b(?:users?|accounts?|host(?:name)?|login|group|domain)[ :=]{1,3}[\"']?)(?=[^\\s\"',;]*[a-z])(?=[^\\s\"',;]*[\\d._@\\\\-])[^\\s\"',;/]+",
  uuid: "\\b[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}\\b",
  mac: "(?<![\\da-f:-])[\\da-f]{2}(?<gap>[:-])[\\da-f]{2}(?:\\k<gap>[\\da-f]{2}){4}(?:(?:\\k<gap>[\\da-f]{2}){2})?(?![\\da-f:-])",
  dotted: "(?<![\\da-f.:])[\\da-f]{4}(?<mark>[.:-])[\\da-f]{4}\\k<mark>[\\da-f]{4}(?![\\da-f.:-])",
  ipv6: "(?<![\\w:.])(?:(?:[\\da-f]{1,4}:){7}[\\da-f]{1,4}|(?:[\\da-f]{1,4}(?::[\\da-f]{1,4})*)?::(?:[\\da-f]{1,4}(?::[\\da-f]{1,4})*)?)(?![\\w:])",
  ipv4: `(?<![\\w.])${OCTET}(?:\\.${OCTET}){3}(?!\\w|\\.\\d)`,
  token: "[\\p{L}\\p{N}]+",
} as const;

const scanners = new Map<FieldRole, RegExp>();

/** Makes the pattern that finds what may identify something in a text of a field. Matches of a `known` form stay. */
function scannerOf(role: FieldRole): RegExp {
  const made = scanners.get(role);
  if (made) return made;
  const known = knownForms(role).map(({ source }) => source);
  const alternatives = Object.entries(FORMS).map(([name, source]) => `(?<${name}>${source})`);
  const [pem = "", host = "", share = "", percent = "", email = "", subject = "", uuid = "", ...rest] =
    alternatives;
  const all = [pem, host, share, percent, email, uuid, subject, `(?<known>${known.join("|")})`, ...rest];
  const scanner = new RegExp(all.join("|"), "giu");
  scanners.set(role, scanner);
  return scanner;
}

const WORD = /[^\s"'/,;()[\]=<>?&|]+/g;
const CHALLENGE =
  /\b(?:(?:Basic|Bearer|Digest|Negotiate|Session)(?=[\s,]|$)|stale="?(?:true|false)"?|algorithm="?(?:MD5|SHA-256|SHA-512-256)(?:-sess)?"?|qop="?auth(?:-int)?(?:, ?auth(?:-int)?)?"?)/gi;
/** The path of an account or a session, which identifies its user. */
const OF_USER = /(\/(?:Accounts|Sessions)\/)([^/?#]+)/i;

/** Removes from a machine's answers what identifies it; see docs/how-to/record-a-bmc.md. */
export class Anonymiser {
  readonly #standIns: StandIns;
  readonly #redact: Redactor;
  readonly #keep: RegExp | undefined;
  readonly #mostCharacters: number;
  readonly #kept = new Map<string, number>();
  /** Values of identifying fields in lower case that contain known words. */
  readonly #found = new Map<string, IdentityKind>();
  /** The results by text, because most texts of a tree occur often. */
  readonly #texts = new Map<string, string>();
  #removed = 0;
  #characters = 0;
  #decodings = 0;

  constructor(
    redact: Redactor,
    { standIns = new StandIns(), keep = [], mostCharacters = MOST_CHARACTERS }: AnonymiserOptions = {},
  ) {
    this.#mostCharacters = mostCharacters;
    this.#redact = redact;
    this.#standIns = standIns;
    this.#keep = keep.length === 0 ? undefined : new RegExp(keep.map(escaped).join("|"), "gi");
  }

  /** The number of values that were replaced or removed, by kind. */
  get replaced(): Readonly<Record<string, number>> {
    return { ...this.#standIns.counts, ...(this.#removed > 0 ? { secret: this.#removed } : {}) };
  }

  /** The texts that were kept because of `keep`, with their counts. */
  get kept(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#kept);
  }

  /** Records an identifying value, such as the login's user, so that it is replaced wherever it occurs. */
  note(kind: IdentityKind, given: string): void {
    const value = given.trim().toLowerCase();
    if (value.length > LONGEST_FOUND || this.#found.size >= MOST_FOUND || isPlainValue(value)) return;
    const tokens = value.match(TOKEN) ?? [];
    if (!tokens.some((token) => isKnown(token)) || isShort(value) || isKnownWord(value)) return;
    this.#found.set(value, kind);
  }

  /** Collects identifying values from everything that will be written, before anything is written. */
  collect(value: unknown, field = "", levels = MOST_LEVELS): void {
    if (levels === 0) return;
    if (Array.isArray(value)) for (const entry of value) this.collect(entry, field, levels - 1);
    else if (typeof value === "object" && value !== null) {
      for (const [name, entry] of Object.entries(value)) this.collect(entry, name, levels - 1);
    } else if (typeof value === "string") {
      const role = roleOf(field);
      if (isIdentity(role) || role === "secret") this.note(role === "secret" ? "text" : role, value);
    }
  }

  /** Returns a value in the form in which it may be written. */
  value(value: unknown, field = "", below?: "secret", levels = MOST_LEVELS): unknown {
    if (typeof value === "object" && value !== null && levels === 0) {
      this.#removed++;
      return null;
    }
    if (Array.isArray(value)) return value.map((entry) => this.value(entry, field, below, levels - 1));
    const role = below ?? roleOf(field);
    if (typeof value === "object" && value !== null) {
      const next = role === "secret" ? role : undefined;
      return Object.fromEntries(
        Object.entries(value).map(([name, entry]) => [
          this.#name(name),
          this.value(entry, name, next, levels - 1),
        ]),
      );
    }
    if (typeof value === "string") return this.#string(value, field, role);
    return typeof value === "number" ? this.#number(value, role) : value;
  }

  /** Anonymises a path with its query, which may name an account or contain a serial number. */
  path(path: string): string {
    if (this.#isFull) return `/${REMOVED}`;
    return path
      .split(OF_USER)
      .map((part, index) => {
        if (index % 3 !== 2) return this.text(part);
        return /^\d{1,3}$/.test(part) ? part : this.#identity(part, "user name");
      })
      .join("");
  }

  headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const kept = Object.entries(headers).filter(([name]) => HEADERS.has(name.toLowerCase()));
    return Object.fromEntries(kept.map(([name, value]) => [name, this.#header(name.toLowerCase(), value)]));
  }

  /** Replaces every part of a text that is not known to be harmless. */
  text(given: string, role: FieldRole = "text"): string {
    const text = given.slice(0, LONGEST_TEXT);
    const key = `${role} ${text}`;
    const cached = this.#texts.get(key);
    if (cached !== undefined) return cached;
    if (this.#isFull) return REMOVED;
    const shown = this.#apart(this.#redact(text), role);
    if (text.length > LONGEST_CACHED) return shown;
    if (this.#texts.size >= MOST_CACHED) this.#texts.clear();
    this.#texts.set(key, shown);
    return shown;
  }

  #string(given: string, field: string, role: FieldRole): string | null {
    const value = given.slice(0, LONGEST_TEXT);
    if (field === "@odata.etag") return this.#header("etag", value);
    if (role === "secret") {
      if (isPlainValue(value)) return value;
      if (REDFISH_LINK.test(value)) return this.path(value);
      this.#removed++;
      return null;
    }
    if (isPlainValue(value) || (role === "measure" && isMeasured(value))) return value;
    if (isIdentity(role)) return this.#identity(value, role);
    return value.includes("/") ? this.path(value) : this.text(value, role);
  }

  #number(value: number, role: FieldRole): number | null {
    if (value === 0) return value;
    if (role === "secret") {
      this.#removed++;
      return null;
    }
    const whole = Math.abs(Math.trunc(value));
    if (role === "measure" || whole <= LARGEST_FREE) return value;
    const kind = isIdentity(role) ? role : "text";
    return Number.isSafeInteger(whole)
      ? Math.sign(value) * Number(this.#standIns.of(kind, String(whole)))
      : 0;
  }

  #name(name: string): string {
    return name.includes("/") ? this.path(name) : this.text(name);
  }

  #header(name: string, value: string): string {
    switch (name) {
      case "etag":
      case "if-match":
        return value.replace(ENTITY_TAG, (tag) => this.#standIns.of("text", tag));
      case "www-authenticate":
        // A realm names the machine, and a nonce is part of a login.
        return (value.match(CHALLENGE) ?? []).join(" ");
      case "retry-after":
        return /^\d{1,6}$/.test(value) ? value : this.text(value);
      case "location":
        return this.path(value);
      default:
        return this.text(value, "version");
    }
  }

  get #isFull(): boolean {
    return this.#characters > this.#mostCharacters;
  }

  /** Replaces a text that identifies something as a whole. */
  #identity(given: string, kind: IdentityKind): string {
    return this.#apart(this.#redact(given.slice(0, LONGEST_TEXT)), kind);
  }

  /** Separates the parts to keep from the parts that identify something in other fields. */
  #apart(text: string, role: FieldRole): string {
    this.#characters += text.length;
    if (this.#isFull) return REMOVED;
    if (!this.#keep) return this.#withFound(text, role);
    return split(text, this.#keep, (rest, kept) => {
      if (kept !== undefined) this.#kept.set(kept, (this.#kept.get(kept) ?? 0) + 1);
      return kept ?? this.#withFound(rest, role);
    });
  }

  #withFound(text: string, role: FieldRole): string {
    if (this.#found.size === 0 || isIdentity(role)) return this.#scan(text, role);
    let [shown, at] = ["", 0];
    for (const { 0: word, index } of text.matchAll(WORD)) {
      const found = [word, word.slice(0, -1)].find((one) => this.#found.has(one.toLowerCase()));
      if (found === undefined) continue;
      const kind = this.#found.get(found.toLowerCase()) ?? "text";
      shown += this.#scan(text.slice(at, index), role) + this.#scan(found, kind);
      at = index + found.length;
    }
    return shown + this.#scan(text.slice(at), role);
  }

  #scan(text: string, role: FieldRole): string {
    const shown: string[] = [];
    /** Places of short words that follow each other. */
    let run: number[] = [];
    let at = 0;
    const endRun = () => {
      const free = run.map((place) => (shown[place] ?? "").replace(/^0x/i, ""));
      if (free.join("").length >= SHORTEST_RUN) {
        for (const place of run) shown[place] = this.#standIns.of("text", shown[place] ?? "");
      }
      run = [];
    };
    for (const { 0: found, index, groups = {} } of text.matchAll(scannerOf(role))) {
      if (index !== at + 1) endRun();
      shown.push(text.slice(at, index));
      const form = NAMES.find((name) => groups[name] !== undefined) ?? "token";
      const replaced = this.#replace(form, found, role);
      if (form !== "token" || replaced !== found || !isFree(found)) endRun();
      else run.push(shown.length);
      shown.push(replaced);
      at = index + found.length;
    }
    endRun();
    shown.push(text.slice(at));
    return shown.join("");
  }

  #replace(form: Form | "known", found: string, role: FieldRole): string {
    const kind = isIdentity(role) ? role : "text";
    switch (form) {
      case "known":
        return found;
      case "pem":
        return REMOVED;
      case "host":
      case "share":
        return this.#host(found.slice(found.lastIndexOf("@") + 1));
      case "percent":
        return this.#decoded(found, role);
      case "email":
      case "subject":
        return this.#tokens(found, "user name");
      case "uuid":
        return this.#joined(found, "UUID");
      case "mac":
      case "dotted":
        return this.#joined(found, "MAC address");
      case "ipv6":
      case "ipv4":
        return this.#standIns.address(found);
      case "token":
        return this.#token(found, kind, isIdentity(role));
      default:
        return form satisfies never;
    }
  }

  #host(host: string): string {
    if (isPublicHost(host)) return host;
    return /^[\d.]+$/.test(host) ? this.#scan(host, "text") : this.#tokens(host, "host name");
  }

  #decoded(found: string, role: FieldRole): string {
    let text: string;
    try {
      text = decodeURIComponent(found);
    } catch {
      return REMOVED;
    }
    if (this.#decodings === MOST_DECODED) return REMOVED;
    this.#decodings++;
    const shown = this.#apart(text, role);
    this.#decodings--;
    return shown === text ? found : encodeURIComponent(shown);
  }

  /** Replaces separated digits by those of their stand-in and keeps the separators. */
  #joined(found: string, kind: IdentityKind): string {
    const made = this.#standIns.of(kind, found.replace(/[^\da-f]/gi, ""));
    let at = 0;
    return found.replace(/[\da-f]/gi, () => made[at++] ?? "");
  }

  #tokens(text: string, kind: IdentityKind): string {
    return text.replace(TOKEN, (token) => this.#token(token, kind, true));
  }

  #token(token: string, kind: IdentityKind, isIdentity: boolean): string {
    if (!isIdentity && (isKnown(token) || HEX_BYTE.test(token))) return token;
    if (/^0x[\da-f]+$/i.test(token)) {
      return `${token.slice(0, 2)}${hexDigits(this.#standIns.of(kind, token.slice(2)))}`;
    }
    return (
      this.#encoded(token, kind, isIdentity) ??
      this.#standIns.of(MAC.test(token) ? "MAC address" : kind, token)
    );
  }

  /** Decodes hexadecimal or base64 text, replaces the text and encodes it again. */
  #encoded(token: string, kind: IdentityKind, isIdentity: boolean): string | undefined {
    for (const encoding of ["hex", "base64"] as const) {
      if (token.length < SHORTEST_ENCODED || (encoding === "hex" && !HEX_BYTES.test(token))) continue;
      const text = Buffer.from(token, encoding).toString("latin1");
      if (!PRINTABLE.test(text)) continue;
      const shown = this.#apart(text, isIdentity ? kind : "text");
      // A number may decode to a text by chance.
      if (shown === text && !/[a-z]{4}/i.test(text)) continue;
      const encoded = Buffer.from(shown, "latin1").toString(encoding).replace(/=+$/, "");
      return /[A-F]/.test(token) && encoding === "hex" ? encoded.toUpperCase() : encoded;
    }
    return undefined;
  }
}

export interface AnonymiserOptions {
  readonly standIns?: StandIns;
  /** Texts that are kept wherever they occur, in any case. */
  readonly keep?: readonly string[];
  /** The limit on the amount of text. */
  readonly mostCharacters?: number;
}

type Form = keyof typeof FORMS;
const NAMES = ["known", ...(Object.keys(FORMS) as Form[])] as const;
const TOKEN = /[\p{L}\p{N}]+/gu;
/** An entity tag without the mark of a weak one. */
const ENTITY_TAG = /(?!W\/)[\p{L}\p{N}]+/gu;
const MAC = /^[\da-f]{12}$/i;
const HEX_BYTE = /^0x[\da-f]{1,2}$/i;
const HEX_BYTES = /^(?:[\da-f]{2})+$/i;
const SHORTEST_ENCODED = 8;
const PRINTABLE = /^[ -~]{4,}$/;
const REDFISH_LINK = /^\/redfish\/v1\/[\w./()-]*$/;
const OTHER_ROLES: readonly FieldRole[] = ["secret", "measure", "model", "version", "text"];

function isIdentity(role: FieldRole): role is IdentityKind {
  return !OTHER_ROLES.includes(role);
}

function hexDigits(text: string): string {
  return text.replace(/[^\da-f]/gi, (character) => (character.charCodeAt(0) % 16).toString(16));
}

/** Whether the text is not a word and reveals nothing by itself. */
function isFree(token: string): boolean {
  return (isShort(token) && !isKnownWord(token)) || HEX_BYTE.test(token);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Replaces with `shown` both the matches of a pattern and the texts between them. */
function split(text: string, pattern: RegExp, shown: (rest: string, found?: string) => string): string {
  let [joined, at] = ["", 0];
  for (const { 0: found, index } of text.matchAll(pattern)) {
    joined += shown(text.slice(at, index)) + shown("", found);
    at = index + found.length;
  }
  return joined + shown(text.slice(at));
}
