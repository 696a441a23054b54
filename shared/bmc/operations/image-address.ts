type ImageProtocol = "http" | "https" | "nfs" | "cifs";

export const MEDIA_TYPES = ["cd", "usb"] as const;
/** How the machine sees an image: as a CD or DVD, or as a USB stick. */
export type MediaType = (typeof MEDIA_TYPES)[number];

/** The location of an image, without credentials. */
export interface ImageAddress {
  readonly protocol: ImageProtocol;
  /** The host with its port, if it has one. */
  readonly host: string;
  /** The path from the first slash on; decoded for `nfs` and `cifs`. */
  readonly path: string;
}

/** A host: an IPv6 address in brackets, a name or an IPv4 address. */
const HOST = String.raw`\[[\da-f:.]+(?:%[\w.-]+)?\]|[^\s\p{C}/@?#:[\]\\]+`;
const PORT = String.raw`(?::\d{1,5})?`;
const URL_FORM = new RegExp(String.raw`^(https?|nfs|cifs|smb)://((?:${HOST})${PORT})(/[^\s@]*)$`, "iu");
/** An NFS address in the form of `mount`: `host:/export/x.iso`. */
const NFS_FORM = new RegExp(`^(${HOST}):(/[^/@][^@]*)$`, "iu");
/** A scheme with a missing slash. */
const SCHEME = /^(.|https?|nfs|cifs|smb|s?ftp|tftp|scp|file)$/i;
const CIFS_FORM = new RegExp(`^//((?:${HOST})${PORT})(/[^@]*)$`, "iu");
/** A control character or a backslash in the path of a share. */
const UNCLEAR = /[\p{Cc}\\]/u;

/**
 * Parses the address of an image: a URL, `host:/path` for NFS, or `//host/share/path` for CIFS, also with backslashes.
 * Returns undefined if it is not an address or has credentials.
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

/**
 * Checks the address of a share, which has a name and a file in it. A backslash is a separator on CIFS, and cannot be
 * written in every form on NFS.
 */
function ofShare(protocol: "nfs" | "cifs", host = "", given = ""): ImageAddress | undefined {
  const path = protocol === "cifs" ? given.replaceAll("\\", "/") : given;
  const needed = protocol === "cifs" ? /^\/[^/]+\/+[^/]/ : /^\/+[^/]/;
  const isText = path.isWellFormed() && !UNCLEAR.test(path);
  if (!isText || path.endsWith("/") || !needed.test(path)) return undefined;
  return { protocol, host, path };
}

/** Decodes a path. Returns an empty text if an escape is invalid, or hides a slash or an at sign. */
function decoded(path: string): string {
  if (/%(2f|5c|40)/i.test(path) || /[?#]/.test(path)) return "";
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

/** Returns the forms of an address that BMCs accept, with the form that this BMC is known to require first. */
export function imageSpellings(url: string, wanted: "uri" | "share"): readonly string[] {
  const address = parseImageAddress(url);
  if (!address || address.protocol === "http" || address.protocol === "https") return [url];
  const { protocol, host, path } = address;
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  // `host:2049:/path` and `c:/path` are not addresses.
  const share = [protocol === "cifs" ? `//${host}${path}` : `${host}:${path}`].filter((form) =>
    parseImageAddress(form),
  );
  const schemes = protocol === "nfs" ? ["nfs"] : ["cifs", "smb"];
  const uris = schemes.map((scheme) => `${scheme}://${host}${encoded}`);
  return wanted === "share" ? [...share, ...uris] : [...uris, ...share];
}

/** Returns the type of an image by its extension: a `.img` is a USB stick. */
export function mediaTypeOf(url: string): MediaType {
  return /\.img$/i.test(url.replace(/[?#].*$/s, "")) ? "usb" : "cd";
}

/** Removes credentials from an address, because BMCs also show those that another client gave them. */
export function withoutCredentials(shown: string): string {
  return shown.replace(/^([a-z][a-z0-9+.-]*:)?(\/\/|\\\\)[^/\\]*(?:[/\\][^/\\]*)*@/i, "$1$2");
}

/** Whether a BMC shows this image, even in another form or with only the end of its path. */
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

/** Converts to lower case on CIFS, where names have no case. */
function folded(path: string, { protocol }: ImageAddress): string {
  const single = path.replace(/\/{2,}/g, "/");
  return protocol === "cifs" ? single.toLowerCase() : single;
}
