import * as z from "zod/mini";
import type { Clock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";
import type { Secret } from "../../../secret.ts";
import type { HttpConnection, HttpRequest } from "../../http/http-connection.ts";
import { jsonIn } from "../../http/json-in.ts";
import { statusError } from "../../http/status-error.ts";

export const EntityState = z.object({ state: z.string() });
const Refusal = z.object({ message: z.string() });

export type SwitchService = "turn_on" | "turn_off";

/** The calls of Home Assistant's REST API that a switch needs. */
export class HomeAssistantApi {
  readonly #http: HttpConnection;
  readonly #base: string;
  readonly #token: Secret;
  readonly #clock: Clock;
  readonly #onAccepted: (() => void) | undefined;

  /** Creates a client. `onAccepted` is called for every service call that Home Assistant accepts. */
  constructor(http: HttpConnection, url: string, token: Secret, clock: Clock, onAccepted?: () => void) {
    this.#http = http;
    this.#base = new URL(url).pathname.replace(/\/$/, "");
    this.#token = token;
    this.#clock = clock;
    this.#onAccepted = onAccepted;
  }

  /** The entity's state in Home Assistant's terms, such as `on`, `off` or `unavailable`. */
  async readState(entity: string, signal: AbortSignal): Promise<string> {
    const path = `/api/states/${entity}`;
    const body = await this.#call({ method: "GET", path }, signal);
    const parsed = EntityState.safeParse(jsonIn(body));
    if (parsed.success) return parsed.data.state;
    throw new BmcError("protocol", `GET ${path} did not return an entity's state`);
  }

  /** Calls a service of a switch. Resolves when Home Assistant has accepted the call. */
  async callSwitch(service: SwitchService, entity: string, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify({ entity_id: entity });
    await this.#call({ method: "POST", path: `/api/services/switch/${service}`, body }, signal);
    this.#onAccepted?.();
  }

  async #call(
    { method, path, body }: Pick<HttpRequest, "method" | "path"> & { readonly body?: string },
    signal: AbortSignal,
  ): Promise<string> {
    const doing = `${method} ${path}`;
    const isWrite = method !== "GET";
    const answer = await this.#http.send(
      {
        method,
        path: this.#base + path,
        headers: {
          authorization: `Bearer ${this.#token.reveal()}`,
          accept: "application/json",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...defined({ body }),
        doing,
        isWrite,
      },
      signal,
    );
    const text = answer.body.toString("utf8");
    if (answer.status >= 200 && answer.status <= 202) return text;
    const said = Refusal.safeParse(jsonIn(text));
    const words = said.success ? said.data.message : "";
    throw statusError(answer, doing, words, {
      effect: isWrite ? "setting" : undefined,
      nowMs: this.#clock.now(),
    });
  }
}
