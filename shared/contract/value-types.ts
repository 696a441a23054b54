import * as z from "zod/mini";

/** Reports the problem that `problemOf` finds in a value. */
export function reporting<T>(problemOf: (value: T) => string | undefined) {
  return z.check<T>(({ value, issues }) => {
    const message = problemOf(value);
    if (message) issues.push({ code: "custom", message, input: value });
  });
}

/** An absolute `http` or `https` URL without credentials, because URLs appear in logs. */
export const HttpUrl = z.string().check(
  z.trim(),
  reporting((url) => urlProblem(url)),
);

function urlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !["http:", "https:"].includes(url.protocol)) return "is not an http or https URL";
  if (url.username !== "" || url.password !== "") return "must not contain credentials";
  return url.hash === "" ? undefined : "must not have a fragment";
}

/** An `http` or `https` URL without a query, to which paths are added. */
export const PlainUrl = HttpUrl.check(z.regex(/^[^?]*$/, { error: "must not have a query" }));

/** SHA-256 of a certificate, in hex with or without colons. */
export const Fingerprint = z.pipe(
  z.string().check(z.regex(/^([0-9a-f]{2}:?){31}[0-9a-f]{2}$/i, { error: "is not a SHA-256 in hex" })),
  z.transform((text: string) => text.replaceAll(":", "").toLowerCase()),
);

/** SHA-256 of an SSH host key in OpenSSH's format, like in `ssh-keygen -lf`: Base64 without padding. */
export const SshFingerprint = z.pipe(
  z
    .string()
    .check(
      z.regex(/^(SHA256:)?[A-Za-z0-9+/]{43}=?$/, { error: "is not a fingerprint such as SHA256:8i5X..." }),
    ),
  z.transform((text: string) => `SHA256:${text.replace(/^SHA256:/, "").replace("=", "")}`),
);
