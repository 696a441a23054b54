import { randomBytes } from "node:crypto";
import { type Answer, noContent, notFound, ok, refusal } from "./answer.ts";
import { collection } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

export const SESSIONS = "/redfish/v1/SessionService/Sessions";

/** The session slots of a BMC. */
export class SessionSlots {
  readonly limit: number;
  /** The ID and user name by token. */
  readonly #open = new Map<string, { readonly id: string; readonly username: string }>();
  #made = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get count(): number {
    return this.#open.size;
  }

  get ids(): readonly string[] {
    return [...this.#open.values()].map(({ id }) => id);
  }

  accepts(token: string): boolean {
    return this.#open.has(token);
  }

  /** Ends every session, as a restart or their expiry does. */
  expireAll(): void {
    this.#open.clear();
  }

  open(username: string): Answer {
    if (this.#open.size >= this.limit) {
      return refusal(503, "IDRAC.2.8.RAC0218", "The maximum number of user sessions is reached.");
    }
    const id = String(++this.#made);
    const token = randomBytes(16).toString("hex");
    this.#open.set(token, { id, username });
    const path = `${SESSIONS}/${id}`;
    return {
      status: 201,
      headers: { "X-Auth-Token": token, Location: path },
      body: sessionResource(path, username),
    };
  }

  close(id: string): Answer {
    const entry = [...this.#open].find(([, session]) => session.id === id);
    if (!entry) return notFound(`${SESSIONS}/${id}`);
    this.#open.delete(entry[0]);
    return noContent;
  }

  collection(): Answer {
    return ok(
      collection(
        SESSIONS,
        "Session",
        this.ids.map((id) => `${SESSIONS}/${id}`),
      ),
    );
  }

  show(id: string): Answer {
    const session = [...this.#open.values()].find((known) => known.id === id);
    const path = `${SESSIONS}/${id}`;
    return session ? ok(sessionResource(path, session.username)) : notFound(path);
  }
}

const sessionResource = (path: string, username: string) =>
  resource(path, "Session", { Name: "Session", UserName: username });
