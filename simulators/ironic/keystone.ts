import { z } from "zod";
import type { Reply, SeenRequest } from "../http-listener.ts";
import { json, parse } from "./reply.ts";

const Identity = z.object({
  methods: z.tuple([z.string()]),
  password: z.object({ user: z.object({ name: z.string(), password: z.string() }) }).optional(),
  application_credential: z.object({ id: z.string(), secret: z.string() }).optional(),
});
const TokenRequest = z.object({ auth: z.object({ identity: Identity, scope: z.unknown().optional() }) });

export interface KeystoneLogin {
  /** Used as the ID of the application credential as well. */
  readonly username: string;
  readonly password: string;
}

/** The part of Keystone v3 that issues tokens. */
export class KeystoneTokens {
  readonly #login: KeystoneLogin;
  readonly #valid = new Set<string>();
  /** The scope of each token request: null for an application credential. */
  readonly scopes: unknown[] = [];

  constructor(login: KeystoneLogin) {
    this.#login = login;
  }

  /** Expires every token. */
  expire(): void {
    this.#valid.clear();
  }

  isValid(token: unknown): boolean {
    return typeof token === "string" && this.#valid.has(token);
  }

  /** Returns undefined for a request that is not for Keystone. */
  answer({ method, path, body }: SeenRequest): Reply | undefined {
    if (method !== "POST" || path !== "/v3/auth/tokens") return undefined;
    const asked = TokenRequest.safeParse(parse(body));
    if (!asked.success) return refusal(400, "Expecting to find valid JSON");
    const { identity, scope = null } = asked.data.auth;
    const { username, password } = this.#login;
    const { user } = identity.password ?? {};
    const { id, secret } = identity.application_credential ?? {};
    const isUser = user?.name === username && user.password === password;
    const isApplication = id === username && secret === password && scope === null;
    if (!isUser && !isApplication) return refusal(401, "The request you have made requires authentication.");
    this.scopes.push(scope);
    const token = `gAAAA-token-${this.scopes.length}-${Math.random().toString(36).slice(2)}`;
    this.#valid.add(token);
    const reply = json(201, { token: { methods: identity.methods } });
    return { ...reply, headers: { ...reply.headers, "X-Subject-Token": token } };
  }
}

function refusal(code: number, message: string): Reply {
  return json(code, { error: { code, message } });
}
