import { KNOWN_WORDS, MEASURES } from "./known-words.ts";

/**
 * What may be written unchanged: words of specifications, makers and this project, and text that is too short to identify
 * anything. Everything else is replaced. A machine's texts may be an attacker's, so each pattern takes linear time.
 */

/** Built on first use: few processes ask for it. */
let words: ReadonlySet<string> | undefined;
const measures = new Set(MEASURES.split(/\s+/));

/** Complete values that identify no machine in any field. */
const PLAIN_VALUE =
  /^[\W_]*$|^(.)\1*(?<!\d)$|^0[0:.x-]*0?$|^(n\/?a|none|null|unknown|unspecified|empty|no asset tag|chassis|system|no dimm|not ?(found|specified|available|applicable|present|set|provided|supported|configured)|default( string)?|to be filled by o\.?e\.?m\.?|enabled?|disabled?|on|off|auto(matic)?|manual|yes|no|true|false|ok|static|dhcp|slaac|administrator|operator|readonly|user|local|remote|all|any|other|standard|custom|always|never|nochange|managed ?system|intel\(r\) amt)$/i;
/** Addresses that reveal nothing about a site: masks, loopback, unspecified, multicast. */
const PLAIN_ADDRESS = /^(?:(?:0|127|22[4-9]|2[3-5]\d)\.[\d.]+|::1?|ff[\da-f]{2}:[\da-f:]*)$/i;
const PUBLIC_HOST = /(?:^|\.)(?:dmtf\.org|oasis-open\.org|odata\.org|w3\.org|snia\.org)$/i;

const PIECE = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\d+|./gsu;
const [LONGEST_FREE, MOST_FREE, MOST_DIGITS] = [3, 3, 3];

export function isPlainValue(value: string): boolean {
  return PLAIN_VALUE.test(value.trim());
}

export function isPlainAddress(address: string): boolean {
  return PLAIN_ADDRESS.test(address);
}

export function isPublicHost(host: string): boolean {
  return PUBLIC_HOST.test(host);
}

export function isKnownWord(text: string): boolean {
  words ??= new Set(KNOWN_WORDS.split(/\s+/));
  return words.has(text.toLowerCase());
}

/**
 * Whether letters and digits are a known word, consist of known words, such as `ProcTurboMode` and `CPU1`, or are too short
 * to identify anything.
 */
export function isKnown(token: string): boolean {
  if (isKnownWord(token)) return true;
  if (isShort(token)) return token.length < LONGEST_FREE || !/^\p{L}+$/u.test(token);
  let [known, free, digits] = [0, 0, 0];
  for (const [piece] of token.matchAll(PIECE)) {
    if (/^\d/.test(piece)) digits += piece.length;
    else if (piece.length > 1 && isKnownWord(piece)) known += piece.length;
    else free += piece.length;
    if (free > MOST_FREE || digits > MOST_DIGITS) return false;
  }
  return known > free;
}

/** Whether a token is too short to identify anything by itself. Many in a row may identify something. */
export function isShort(token: string): boolean {
  return token.length <= LONGEST_FREE;
}

/** What the name of a field reveals about its value. */
export type FieldRole = "secret" | "measure" | "model" | "version" | "text" | IdentityKind;

/**
 * The kinds of identities: of a machine, a person or a place. Values of these fields are replaced even if they consist of
 * known words.
 */
export type IdentityKind = (typeof IDENTITIES)[number][0] | "text";

const SECRET =
  /passw|passphrase|passcode|\bpwd|pwd$|secret|token|credential|community|key$|keys$|keytab|hash|cookie|certificatestring|csrstring|pkcs|nonce|challenge|bindpw|^pin$|pincode$|^psk$|signaturestring|fingerprint|pem$|keydata|seed$|^k[gr]$/i;
/** Fields that count or limit secrets, or name keys of a keyboard, but contain no secret. */
const NO_SECRET =
  /(length|min|max|count|days|policy|threshold|timeout|expir\w{0,16}|enabled?|required|supported|type|algorithm|protection|status|state|mode|readonly|hidden|hotkey|registrykey|salt)s?$/i;

const IDENTITIES = [
  ["UUID", /uuid|guid$/i],
  ["MAC address", /mac(address(es)?)?$|macaddress|^permanentaddress$/i],
  [
    "serial number",
    /serial(no|number|num)?$|servicetag|servicecode|^sku$|^systemid$|^nodeid$|^durablename$|^ww(n|pn|nn|id)|wwn|^chipid$|engineid|^boardid$|^unitid$|^contextid$/i,
  ],
  ["asset tag", /asset(tag|name|owner|number)?$/i],
  ["licence", /licen[cs]e(id|number|serial|string)$|entitlement|^order(id|number)/i],
  [
    "host name",
    /host_?name$|^fqdn$|domain(name)?s?$|^dnsname|servername$|^systemname$|racname$|^nodename$|^clustername$|^workgroup$/i,
  ],
  [
    "user name",
    /user_?names?$|loginname|^login$|^user$|accountname|^owner$|contact|e?mail(address)?$|group(dn|s?id|name)$|(local|remote)(user|group)|searchfilter|distinguishedname|bind?dn$|^(subject|issuer|commonname)$|personname|(initiator|target)name$|createdby|userlabel/i,
  ],
  [
    "location",
    /^(location|country|city|street|streetname|building|room|row|rack|rackname|aisle|datacenter|site|territory|district|division|neighborhood|leadingstreetdirection|landmark|postalcode|pobox|county|floor|latitude|longitude|altitudemeters|altitude|gpscoords|additionalinfo|additionalcode|houseno|housenumber|organization(alunit)?|state\/province|syslocation)$/i,
  ],
  [
    "address",
    /^ip$|ip(v[46])?(address(es)?|dns\w{0,16}|gateway)$|^address(es)?$|gateways?$|servers?(address(es)?)?$|^(primary|secondary)?dns\d*$|^nameservers?$|^ntp\d$|serviceaddresses$|hostaddress/i,
  ],
] as const;

const VERSION = /version|firmware|revision|build|release|package|softwareid/i;
const MODEL = /model|manufacturer|vendor|product|family|partnumber|processor|^name$|^displayname$/i;

/**
 * Determines the role of a field from the last part of names such as `Users.2.UserName` and
 * `ResetType@Redfish.AllowableValues`: an annotation lists what a specification allows.
 */
export function roleOf(field: string): FieldRole {
  // An action.
  if (field.startsWith("#")) return "text";
  const [property = "", annotation] = field.split("@");
  const name = property.slice(property.lastIndexOf(".") + 1);
  if (SECRET.test(name) && !NO_SECRET.test(annotation ?? name)) return "secret";
  if (annotation !== undefined) return annotation.endsWith("count") ? "measure" : "text";
  const identity = IDENTITIES.find(([, pattern]) => pattern.test(name));
  if (identity) return identity[0];
  if (VERSION.test(name)) return "version";
  if (MODEL.test(name)) return "model";
  const [last = "", before = ""] = (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).toReversed();
  // `MiB` has two capitals.
  return [last, before + last].some((word) => measures.has(word.toLowerCase())) ? "measure" : "text";
}

const MEASURED =
  /^[-+]?\d{1,15}(\.\d{1,15})? ?(%|[KMGT]?i?(B|Bps|b|bps|Hz)|[kmµu]?(W|V|A|VA|J)|°?[CF]|RPM|rpm|ms|s|bits?|cells?)?$/;
const UNIT =
  /(?<![\w.-])\d{1,12}(?:\.\d{1,6})?(?= ?(?:%|[KMGT]i?B\b|[KMGT]?bps\b|[kMGT]?Hz\b|m?W(?:atts)?\b|[mk]?V(?:olts)?\b|RPM\b|rpm\b|seconds\b|minutes\b|ms\b|MB\/s|[MG]T\/s))/gi;
const MOMENT =
  /(?<!\w)(?:19|20)\d\d-[01]?\d-[0-3]?\d(?:[T ][0-2]\d:[0-5]\d(?::[0-6]\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\w)|(?<![\w/])[0-3]?\d\/[0-3]?\d\/(?:19|20)\d\d(?![\w/])|(?<![\w:])[0-2]\d:[0-5]\d:[0-5]\d(?![\w:])|(?<![\w:])[+-][01]\d:[0-5]\d(?![\w:])/g;
/** `Jun 24 20:51:29 2026` and `24 Jun 2026` */
const YEAR =
  /(?<=\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} {1,2}(?:\d{1,2},? )?(?:\d\d:\d\d:\d\d )?)(?:19|20)\d\d(?!\w)/g;
const DURATION =
  /(?<!\w)-?P(?=T?\d)(?:\d{1,3}Y)?(?:\d{1,3}M)?(?:\d{1,3}W)?(?:\d{1,4}D)?(?:T(?:\d{1,3}H)?(?:\d{1,3}M)?(?:\d{1,6}(?:\.\d{1,6})?S)?)?(?!\w)/g;
/** Dotted numbers that cannot be an IP address. */
const DOTTED =
  /(?<![\w.])v?(?!(?:[1-9]\d|[12]\d\d)(?:\.(?:0|[1-9]\d{0,2})){2}\.[1-9]\d{0,2}(?![\w.]))\d{1,4}(?:[._-]\d{1,4}){1,5}(?![\w.])/g;
/** Series of processors and machines, with numbers that are publicly known. */
const SERIES =
  /(?<!\w)(?:EPYC|Gold|Silver|Platinum|Bronze|Xeon|Ryzen|Gen|V)[ -]\d{4}[A-Z+]{0,2}(?!\w)|(?<!\w)(?:R|T|C|M|XR|XE|DL|ML|BL|XL|SL|SR|ST|SD|RD|RS)\d{3,4}[a-z]{0,3}(?!\w)/g;
const SCHEMA_VERSION = /(?<![A-Za-z\d])v\d{1,2}[._]\d{1,2}[._]\d{1,2}(?![\w])/g;

/** Numbered messages of registries: Dell's and Lenovo's. */
const MESSAGE_ID =
  /(?<=\bIDRAC\.\d{1,2}\.\d{1,2}\.)[A-Z]{2,4}\d{3,4}(?!\w)|(?<!\w)(?:BAR|BIOS|CPU|FAN|IPA|JCP|LC|LOG|MEM|NIC|PR|PSU|PWR|RAC|RAM|RED|SEC|SUP|SWC|SYS|TMP|USR|VRM)\d{3,4}(?!\w)|(?<!\w)FQXSP[A-Z]{2}\d{4}[A-Z](?!\w)/g;
/** Names of UEFI boot options, such as `Boot0001`. */
const BOOT_OPTION = /(?<!\w)Boot[\dA-F]{4}(?!\w)/g;
/** The numbers of maker and product in this project's form for an IPMI BMC: `enterprise 674 product 0x0100`. */
const PRODUCT =
  /(?<=\benterprise )\d{1,6}(?= product )|(?<=\benterprise \d{1,6} product )0x[\da-f]{4}(?!\w)/g;
const BAUD = /(?<![\w.-])(?:1200|2400|4800|9600|19200|38400|57600|115200)(?![\w.-])/g;
const PORT = /(?<=[\w\])]:)(?:2049|3128|4433|5000|5120|5900|5985|8000|8080|8443|8888|1699[2-5])(?![\w.:])/g;

/** Returns the forms that stay in a text in addition to known words. */
export function knownForms(role: FieldRole): readonly RegExp[] {
  const own = role === "version" ? [DOTTED] : role === "model" ? [SERIES] : [];
  return [MOMENT, YEAR, DURATION, UNIT, SCHEMA_VERSION, MESSAGE_ID, BOOT_OPTION, PRODUCT, BAUD, PORT, ...own];
}

/** Whether a measure's value is a number, with or without its unit. */
export function isMeasured(value: string): boolean {
  return MEASURED.test(value);
}
