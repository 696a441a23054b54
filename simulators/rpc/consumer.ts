import { z } from "zod";
import type { BootDevice } from "../../shared/contract/vocabulary.ts";
import { HttpListener, type HttpListenerOptions, type Reply, type SeenRequest } from "../http-listener.ts";
import { type PowerAction, SimulatedMachine } from "../machine.ts";
import { type ExpectedSignature, hasValidSignature } from "./verify-signature.ts";

export interface RpcConsumerOptions extends HttpListenerOptions {
  /** The machines by the host that requests name. Defaults to one machine for any host. */
  readonly machines?: Readonly<Record<string, SimulatedMachine>>;
  /** The expected signature. Without it, unsigned requests are accepted. */
  readonly signature?: ExpectedSignature;
  /** Where the request is inside the body. Defaults to the body itself. */
  readonly embeddedAt?: string;
}

const Request = z.object({
  id: z.number(),
  host: z.string(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
});
type Request = z.infer<typeof Request>;

const PowerParams = z.strictObject({ state: z.enum(["on", "off", "soft", "cycle", "reset"]) });
const BootParams = z.strictObject({ device: z.string(), persistent: z.boolean(), efiBoot: z.boolean() });
const MediaParams = z.strictObject({ mediaUrl: z.string(), kind: z.string() });

const ACTIONS: Readonly<Record<z.infer<typeof PowerParams>["state"], PowerAction>> = {
  on: "on",
  off: "off",
  soft: "soft-off",
  cycle: "cycle",
  reset: "reset",
};

class Refused extends Error {}

/** A webhook consumer for the `rpc` provider, which controls the power of machines. */
export class RpcConsumerServer {
  readonly http: HttpListener;
  /** The accepted requests without pings. */
  readonly calls: Request[] = [];
  /** The bodies as received, including pings. */
  readonly bodies: string[] = [];
  /** The number of requests with a wrong or missing signature. */
  refusedSignatures = 0;
  /** The image that was last inserted into the virtual drive. */
  media = "";
  /** Answers that replace the consumer's own, in order. The requests are not carried out. */
  readonly scripted: Reply[] = [];
  readonly #options: RpcConsumerOptions;
  readonly #machine = new SimulatedMachine();

  constructor(options: RpcConsumerOptions) {
    this.#options = options;
    this.http = new HttpListener(options, (request) => this.#answer(request));
  }

  /** The machine for any host, or the first of several. */
  get machine(): SimulatedMachine {
    return Object.values(this.#options.machines ?? {})[0] ?? this.#machine;
  }

  async close(): Promise<void> {
    for (const machine of [this.#machine, ...Object.values(this.#options.machines ?? {})]) machine.close();
    await this.http.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #answer({ headers, body }: SeenRequest): Reply {
    const { signature } = this.#options;
    this.bodies.push(body);
    if (signature && !hasValidSignature(signature, headers, body)) {
      this.refusedSignatures++;
      return json(401, { id: 0, host: "", error: { code: 401, message: "the signature does not verify" } });
    }
    const parsed = Request.safeParse(this.#requestIn(body));
    if (!parsed.success) return json(400, { id: 0, host: "", error: { code: 400, message: "no request" } });
    const request = parsed.data;
    const { id, host } = request;
    if (request.method === "ping") return this.scripted.shift() ?? json(200, { id, host, result: "pong" });
    this.calls.push(request);
    const scripted = this.scripted.shift();
    if (scripted) return scripted;
    try {
      return json(200, { id, host, result: this.#carryOut(request) });
    } catch (thrown) {
      const message = thrown instanceof Refused ? thrown.message : "params that are not understood";
      return json(200, { id, host, error: { code: 500, message } });
    }
  }

  #requestIn(body: string): unknown {
    const keys = this.#options.embeddedAt?.split(".") ?? [];
    return keys.reduce<unknown>(
      (value, key) => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined),
      JSON.parse(body),
    );
  }

  #carryOut({ host, method, params }: Request): unknown {
    const { machines } = this.#options;
    const machine = machines ? machines[host] : this.#machine;
    if (!machine) throw new Refused(`no machine ${host}`);
    switch (method) {
      case "getPowerState":
        return { on: "on", off: "off", "powering-on": "off", "powering-off": "on" }[machine.power];
      case "setPowerState": {
        const { state } = PowerParams.parse(params);
        if (!machine.do(ACTIONS[state])) throw new Refused(`the machine is ${machine.power}`);
        return "ok";
      }
      case "setBootDevice": {
        const { device, persistent, efiBoot } = BootParams.parse(params);
        const enabled = persistent ? "continuous" : "once";
        machine.override = { device: device as BootDevice, enabled, mode: efiBoot ? "uefi" : "legacy" };
        return "ok";
      }
      case "setVirtualMedia":
        this.media = MediaParams.parse(params).mediaUrl;
        return "ok";
      default:
        throw new Refused(`no method ${method}`);
    }
  }
}

/** Starts a consumer. It listens when the promise resolves. */
export async function startRpcConsumer(options: RpcConsumerOptions = {}): Promise<RpcConsumerServer> {
  const consumer = new RpcConsumerServer(options);
  await consumer.http.listen(options.port);
  return consumer;
}

export function json(status: number, body: unknown): Reply {
  return { status, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}
