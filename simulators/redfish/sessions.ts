import { randomBytes } from "node:crypto";
import { type Answer, noContent, notFound, ok, refusal } from "./answer.ts";

export const SESSIONS = "/redfish/v1/SessionService/Sessions";

/** The session slots of a BMC. */
export class SessionSlots {
  readonly limit: number;
  readonly #open = new Map<string, string>();
  #made = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get count(): number {
    return this.#open.size;
  }

  get ids(): readonly string[] {
    return [...this.#open.values()];
  }

  accepts(token: string): boolean {
    return this.#open.has(token);
  }

  /** Ends every session as a BMC does on a restart or when they expire. */
  expireAll(): void {
    this.#open.clear();
  }

  open(username: string): Answer {
    if (this.#open.size >= this.limit) {
      return refusal(503, "IDRAC.2.8.RAC0218", "The maximum number of user sessions is reached.");
    }
    const id = String(++this.#made);
    const token = randomBytes(16).toString("hex");
    this.#open.set(token, id);
    const path = `${SESSIONS}/${id}`;
    return {
      status: 201,
      headers: { "X-Auth-Token": token, Location: path },
      body: { "@odata.id": path, Id: id, Name: "Session", UserName: username },
    };
  }

  close(id: string): Answer {
    const entry = [...this.#open].find(([, known]) => known === id);
    if (!entry) return notFound(`${SESSIONS}/${id}`);
    this.#open.delete(entry[0]);
    return noContent;
  }

  collection(): Answer {
    const members = this.ids.map((id) => ({ "@odata.id": `${SESSIONS}/${id}` }));
    return ok({ "@odata.id": SESSIONS, Members: members, "Members@odata.count": members.length });
  }
}
