import { z } from "zod";
import { Secret } from "../../../shared/secret.ts";

const EXPECTATION =
  "must be http://host:port or https://host:port, perhaps with user:password@ before the host, or off";

/** The URL of an HTTP proxy, which may have a password; undefined for `off`. */
export const ProxyAddress = z.string().transform((text, context) => {
  const given = text.trim();
  if (given === "off") return undefined;
  // The scheme may be left out, as in Go.
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  if (isProxy(url)) return new Secret(url);
  context.issues.push({ code: "custom", message: EXPECTATION, input: text });
  return z.NEVER;
});

function isProxy(text: string): boolean {
  try {
    const { protocol, hostname, pathname, username, password, search, hash } = new URL(text);
    decodeURIComponent(username + password);
    return /^https?:$/.test(protocol) && hostname !== "" && pathname === "/" && search === "" && hash === "";
  } catch {
    return false;
  }
}
