type ImageProtocol = "http" | "https" | "nfs" | "cifs";

export const MEDIA_TYPES = ["cd", "usb"] as const;
/** What an image is to the machine: a CD or DVD, or a USB stick. */
export type MediaType = (typeof MEDIA_TYPES)[number];

/** Where an image is, without credentials. */
export interface ImageAddress {
  readonly protocol: ImageProtocol;
  /** With its port, if it has one. */
  readonly host: string;
  /** From the first slash on; of `nfs` and `cifs` decoded. */
  readonly path: string;
}

/** An IPv6 address in brackets, or a name or IPv4 address. */
const HOST = String.raw`\[[\da-f:.]+(?:%[\w.-]+)?\]|[^\s\p{C}/@?#:[\]\\]+`;
const PORT = String.raw`(?::\d{1,5})?`;
const URL_FORM = new RegExp(String.raw`^(https?|nfs|cifs|smb)://((?:${HOST})${PORT})(/[^\s@]*)$`, "iu");
/** An NFS address in the form of `mount`: `host:/export/x.iso`. */
const NFS_FORM = new RegExp(`^(${HOST}):(/[^/@][^@]*)$`, "iu");
/** A scheme with one slash too few. */
const SCHEME = /^(.|https?|nfs|cifs|smb|s?ftp|tftp|scp|file)$/i;
const CIFS_FORM = new RegExp(`^//((?:${HOST})${PORT})(/[^@]*)$`, "iu");
/** A control character or a backslash in the path of a share. */
const UNCLEAR = /[\p{Cc}\\]/u;

/**
 * Reads the address of an image: a URL, `host:/path` of NFS, or `//host/share/path` of CIFS, also with backslashes. Undefined if it is
 * none, or has credentials.
 */
export function parseImageAddress(text: string): ImageAddress | undefined {
  const url = URL_FORM.exec(text);
  if (url) return ofUrl(url);
  const share = CIFS_FORM.exec(text.startsWith("\\\\") ? text.replaceAll("\\", "/") : text);
  if (share) return ofShare("cifs", share[1], share[2]);
  const nfs = NFS_FORM.exec(text);
  return nfs && !SCHEME.test(nfs[1] ?? "") ? ofShare("nfs", nfs[1], nfs[2]) : undefined;
}

function ofUrl([, scheme = "", host = "", path = ""]: RegExpExecArray): ImageAddress | undefined {
  const name = scheme.toLowerCase();
  if (name === "http" || name === "https") return { protocol: name, host, path };
  return ofShare(name === "nfs" ? "nfs" : "cifs", host, decoded(path));
}

/** A share has a name and a file in it. A backslash separates on CIFS, and cannot be said in every form on NFS. */
function ofShare(protocol: "nfs" | "cifs", host = "", given = ""): ImageAddress | undefined {
  const path = protocol === "cifs" ? given.replaceAll("\\", "/") : given;
  const needed = protocol === "cifs" ? /^\/[^/]+\/+[^/]/ : /^\/+[^/]/;
  const isText = path.isWellFormed() && !UNCLEAR.test(path);
  if (!isText || path.endsWith("/") || !needed.test(path)) return undefined;
  return { protocol, host, path };
}

/** Empty if an escape is invalid, or hides a slash or an at sign. */
function decoded(path: string): string {
  if (/%(2f|5c|40)/i.test(path) || /[?#]/.test(path)) return "";
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

/** The forms of an address that BMCs take, the one that this BMC is known to want first. */
export function imageSpellings(url: string, wanted: "uri" | "share"): readonly string[] {
  const address = parseImageAddress(url);
  if (!address || address.protocol === "http" || address.protocol === "https") return [url];
  const { protocol, host, path } = address;
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  // Neither `host:2049:/path` nor `c:/path` is an address.
  const share = [protocol === "cifs" ? `//${host}${path}` : `${host}:${path}`].filter((form) =>
    parseImageAddress(form),
  );
  const schemes = protocol === "nfs" ? ["nfs"] : ["cifs", "smb"];
  const uris = schemes.map((scheme) => `${scheme}://${host}${encoded}`);
  return wanted === "share" ? [...share, ...uris] : [...uris, ...share];
}

/** By the ending of its name: a `.img` is a USB stick. */
export function mediaTypeOf(url: string): MediaType {
  return /\.img$/i.test(url.replace(/[?#].*$/s, "")) ? "usb" : "cd";
}

/** An address as it may be shown: BMCs report the one that another client gave them, with its credentials. */
export function withoutCredentials(shown: string): string {
  return shown.replace(/^([a-z][a-z0-9+.-]*:)?(\/\/|\\\\)[^/\\]*(?:[/\\][^/\\]*)*@/i, "$1$2");
}

/** Whether a BMC shows this image, be it in another form, or by the end of its path alone. */
export function isSameImage(shown: string, url: string): boolean {
  if (shown === url) return true;
  const asked = parseImageAddress(url);
  if (!asked) return false;
  const plain = withoutCredentials(shown);
  const address = parseImageAddress(plain);
  if (address) return identity(address) === identity(asked);
  const end = plain.replaceAll("\\", "/").replace(/^\/+/, "");
  const path = asked.path.replace(/[?#].*$/s, "");
  return end !== "" && !end.includes(":") && folded(path, asked).endsWith(folded(`/${end}`, asked));
}

const DEFAULT_PORTS: Readonly<Record<ImageProtocol, RegExp>> = {
  http: /:80$/,
  https: /:443$/,
  nfs: /:2049$/,
  cifs: /:445$/,
};

function identity(address: ImageAddress): string {
  const host = address.host.toLowerCase().replace(DEFAULT_PORTS[address.protocol], "");
  return `${address.protocol} ${host} ${folded(address.path, address)}`;
}

/** Names on CIFS have no case. */
function folded(path: string, { protocol }: ImageAddress): string {
  const single = path.replace(/\/{2,}/g, "/");
  return protocol === "cifs" ? single.toLowerCase() : single;
}
