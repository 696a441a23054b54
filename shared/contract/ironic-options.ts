import * as z from "zod/mini";
import { Fingerprint, PlainUrl } from "./value-types.ts";

const Text = z.string().check(z.trim(), z.minLength(1, { error: "is empty" }), z.maxLength(255));

/** How requests authenticate. The connection's user name and password hold what the method needs. */
export const IronicAuth = z.enum(["none", "basic", "token", "password", "application-credential"]);
export type IronicAuth = z.infer<typeof IronicAuth>;

/** When a node may be changed although Ironic or its user may be working on it. */
export const IronicAllowance = z.enum(["maintenance", "transition", "instance"]);
export type IronicAllowance = z.infer<typeof IronicAllowance>;

export const KeystoneOptions = z.strictObject({
  /** The URL of Keystone, with or without `/v3`. */
  url: PlainUrl,
  /** The domain of the user, by name. */
  userDomain: z._default(Text, "Default"),
  /** The project that the token is for, by name; for the whole system when absent. */
  project: z.optional(Text),
  /** The domain of the project, by name. */
  projectDomain: z._default(Text, "Default"),
  /** SHA-256 of Keystone's certificate; `tls.fingerprint` is that of Ironic. */
  fingerprint: z.optional(Fingerprint),
});
export type KeystoneOptions = z.infer<typeof KeystoneOptions>;

export const IronicOptions = z
  .strictObject({
    /** The URL of Ironic, with or without `/v1`. */
    url: PlainUrl,
    /** The node, by name or UUID; the machine's own name when absent. */
    node: z.optional(
      z.string().check(z.regex(/^[A-Za-z0-9._~-]{1,255}$/, { error: "is not the name or UUID of a node" })),
    ),
    /**
     * How to authenticate: not at all, with HTTP basic, or with a Keystone token, which is the password or comes from the user
     * and password, or the ID and secret of an application credential.
     */
    auth: z._default(IronicAuth, "none"),
    /** Where tokens come from, for `password` and `application-credential`. */
    keystone: z.optional(KeystoneOptions),
    /** Which nodes may be changed although they are in maintenance, between two provisioning states, or in use as an instance. */
    allow: z._default(z.array(IronicAllowance), []),
  })
  .check(
    z.refine(({ auth, keystone }) => keystone !== undefined || !usesKeystone(auth), {
      error: "is missing: auth needs it",
      path: ["keystone"],
    }),
  );
export type IronicOptions = z.infer<typeof IronicOptions>;

/** Whether Keystone issues the token. */
export function usesKeystone(auth: IronicAuth): auth is "password" | "application-credential" {
  return auth === "password" || auth === "application-credential";
}

/** What the connection must have for `auth`, of options that need not be checked yet. */
export function ironicCredentials(options: unknown): readonly ("username" | "password")[] {
  const { auth } = (options ?? {}) as { readonly auth?: unknown };
  if (auth === undefined || auth === "none") return [];
  return auth === "token" ? ["password"] : ["username", "password"];
}
