import { z } from "zod";
import { HttpListener, type HttpListenerOptions, type Reply, type SeenRequest } from "../http-listener.ts";
import { SimulatedMachine } from "../machine.ts";

export interface HomeAssistantOptions extends HttpListenerOptions {
  readonly machine?: SimulatedMachine;
  readonly entity?: string;
  readonly token?: string;
}

const ServiceCall = z.object({ entity_id: z.string() });

/** A simulated Home Assistant with one switch, which powers a machine. */
export class HomeAssistantServer {
  readonly machine: SimulatedMachine;
  readonly entity: string;
  readonly token: string;
  readonly http: HttpListener;
  /** Whether the switch is reachable. If false, its state is `unavailable`. */
  available = true;

  constructor(options: HomeAssistantOptions) {
    this.machine = options.machine ?? new SimulatedMachine();
    this.entity = options.entity ?? "switch.node_1";
    this.token = options.token ?? "token-calvin";
    this.http = new HttpListener(options, (request) => this.#answer(request));
  }

  async close(): Promise<void> {
    this.machine.close();
    await this.http.close();
  }

  #answer({ method, path, headers, body }: SeenRequest): Reply {
    if (headers.authorization !== `Bearer ${this.token}`) return { status: 401, body: "401: Unauthorized" };
    const state = /^\/api\/states\/(.+)$/.exec(path)?.[1];
    if (method === "GET" && state !== undefined) {
      return state === this.entity ? json(200, this.#state()) : json(404, { message: "Entity not found." });
    }
    const service = /^\/api\/services\/switch\/(turn_on|turn_off)$/.exec(path)?.[1];
    if (method !== "POST" || service === undefined) return { status: 404, body: "404: Not Found" };
    const call = ServiceCall.safeParse(parse(body));
    if (!call.success) return json(400, { message: "Data should be valid JSON." });
    // Home Assistant accepts a call for an entity that does not exist or is unreachable, and does nothing.
    if (call.data.entity_id !== this.entity || !this.available) return json(200, []);
    this.machine.do(service === "turn_on" ? "on" : "off");
    return json(200, [this.#state()]);
  }

  #state() {
    const { power } = this.machine;
    // A relay switches at once, but its state is shown only after its next report.
    const shown = power === "on" || power === "powering-off" ? "on" : "off";
    return {
      entity_id: this.entity,
      state: this.available ? shown : "unavailable",
      attributes: { friendly_name: this.machine.name },
    };
  }
}

/** Starts a Home Assistant. It listens when the promise resolves. */
export async function startHomeAssistant(options: HomeAssistantOptions = {}): Promise<HomeAssistantServer> {
  const server = new HomeAssistantServer(options);
  await server.http.listen(options.port);
  return server;
}

function json(status: number, body: unknown): Reply {
  return { status, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
