import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { ImageReference } from "../../../shared/contract/image-reference.ts";
import { Secret } from "../../../shared/secret.ts";
import { EngineError } from "./engine-error.ts";

const DEFAULT_REGISTRY = "docker.io";
const HELPER_TIMEOUT_MS = 30_000;
/** Docker's user name for a token that replaces a password. */
const TOKEN_USER = "<token>";
const HELPER_NAME = /^[\w.-]+$/;

/** Credentials of one registry. */
interface RegistryLogin {
  /** `host` or `host:port`, as in image names; `docker.io` for images without a registry. */
  readonly registry: string;
  readonly username: string;
  readonly password: Secret;
}

export interface RegistryLoginOptions {
  /** Logins that have precedence over the file. */
  readonly registries?: readonly RegistryLogin[];
  /** Docker's `config.json` or Podman's `auth.json`, which may be missing. Read for each pull, because logins expire. */
  readonly loginFile?: string | undefined;
}

const Auth = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  identitytoken: z.string().optional(),
});
/** The part of a login file that this worker reads. */
const LoginFile = z.object({
  auths: z.record(z.string(), Auth).optional(),
  credHelpers: z.record(z.string(), z.string()).optional(),
  credsStore: z.string().optional(),
});
type LoginFile = z.infer<typeof LoginFile>;
const HelperAnswer = z.object({ Username: z.string(), Secret: z.string() });

type Login = { readonly username: string; readonly password: Secret } | { readonly identityToken: Secret };

/** The value of X-Registry-Auth for an image's registry; undefined if there is no login for it. */
export async function registryAuth(
  { registry = DEFAULT_REGISTRY, repository }: Pick<ImageReference, "registry" | "repository">,
  { registries = [], loginFile }: RegistryLoginOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const set = registries.find((login) => login.registry === registry);
  const login = set ?? (await loginIn(loginFile, registry, repository, signal));
  return login && encode(login, registry);
}

/**
 * Engine API, "Authentication": JSON in base64url, with padding. Docker ignores a header without it, Podman refuses it:
 * both decode with Go's `base64.URLEncoding`.
 */
function encode(login: Login, registry: string): string {
  const secret =
    "identityToken" in login
      ? { identitytoken: login.identityToken.reveal() }
      : { username: login.username, password: login.password.reveal() };
  // The engine knows the address of its default registry.
  const address = registry === DEFAULT_REGISTRY ? {} : { serveraddress: registry };
  const text = Buffer.from(JSON.stringify({ ...secret, ...address })).toString("base64");
  return text.replaceAll("+", "-").replaceAll("/", "_");
}

/** Finds a login in Docker's order: the registry's own helper, the common helper, the file itself. */
async function loginIn(
  path: string | undefined,
  registry: string,
  repository: string,
  signal: AbortSignal,
): Promise<Login | undefined> {
  const file = path === undefined ? undefined : await readLoginFile(path);
  if (!file) return undefined;
  const { auths = {}, credHelpers = {}, credsStore } = file;
  const helper = matching(credHelpers, registry, repository) ?? credsStore;
  if (helper !== undefined) {
    const server = registry === DEFAULT_REGISTRY ? "https://index.docker.io/v1/" : registry;
    const login = await askHelper(helper, server, signal);
    if (login) return login;
  }
  const auth = matching(auths, registry, repository);
  return auth && loginOf(auth);
}

async function readLoginFile(path: string): Promise<LoginFile | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new EngineError("usage", `the registry logins in ${path} cannot be read (${code})`, {
      cause: thrown,
    });
  }
  try {
    return LoginFile.parse(JSON.parse(text));
  } catch {
    // The cause quotes the file, which contains passwords.
    throw new EngineError("usage", `${path} does not hold registry logins as Docker or Podman write them`);
  }
}

/** Finds the entry of a registry. Podman also has entries for a part of a registry; the longest match applies. */
function matching<T>(
  entries: Readonly<Record<string, T>>,
  registry: string,
  repository: string,
): T | undefined {
  const full = `${registry}/${repository}`;
  const fitting = Object.entries(entries)
    .map(([key, value]) => [loginPlace(key), value] as const)
    .filter(([place]) => place === registry || full === place || full.startsWith(`${place}/`));
  return fitting.toSorted(([one], [other]) => other.length - one.length)[0]?.[1];
}

/** The registry of a key. Docker writes its default registry as `https://index.docker.io/v1/`. */
function loginPlace(key: string): string {
  const place = key.replace(/^https?:\/\//, "").replace(/\/(v[12]\/?)?$/, "");
  return place.replace(/^(index|registry-1)\.docker\.io(?=\/|$)/, DEFAULT_REGISTRY);
}

function loginOf({ auth, username, password, identitytoken }: z.infer<typeof Auth>): Login | undefined {
  if (identitytoken) return { identityToken: new Secret(identitytoken) };
  if (username && password) return { username, password: new Secret(password) };
  const decoded = Buffer.from(auth ?? "", "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  if (colon < 1) return undefined;
  return { username: decoded.slice(0, colon), password: new Secret(decoded.slice(colon + 1)) };
}

/** Asks a credential helper; undefined if it has no login for the registry. */
async function askHelper(name: string, server: string, signal: AbortSignal): Promise<Login | undefined> {
  if (!HELPER_NAME.test(name)) {
    throw new EngineError("usage", `${JSON.stringify(name)} is not the name of a credential helper`);
  }
  const program = `docker-credential-${name}`;
  // Loaded late, because few workers have a helper.
  const { execa } = await import("execa");
  const asked = await execa(program, ["get"], {
    input: server,
    reject: false,
    timeout: HELPER_TIMEOUT_MS,
    cancelSignal: signal,
    verbose: "none",
  });
  signal.throwIfAborted();
  if (asked.exitCode !== 0) {
    // Helpers write their problems to stdout.
    const said = asked.exitCode === undefined ? asked.shortMessage : String(asked.stdout).trim();
    if (/credentials not found/i.test(said ?? "")) return undefined;
    throw new EngineError("auth", `${program} gave no login for ${server}: ${said}`);
  }
  const parsed = parseHelperAnswer(String(asked.stdout));
  if (!parsed) throw new EngineError("auth", `${program} printed no valid login for ${server}`);
  const { Username: username, Secret: secret } = parsed;
  if (secret === "") return undefined;
  return username === TOKEN_USER
    ? { identityToken: new Secret(secret) }
    : { username, password: new Secret(secret) };
}

function parseHelperAnswer(text: string): z.infer<typeof HelperAnswer> | undefined {
  try {
    return HelperAnswer.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Parses a registry as image names contain it; undefined for invalid text. Docker's own clients write it as a URL. */
export function parseRegistryName(text: string): string | undefined {
  const place = loginPlace(text.trim().toLowerCase());
  return /^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)(:\d{1,5})?$/.test(place) ? place : undefined;
}
