import { describe, expect, test } from "vitest";
import { Connection } from "../../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { startAmtDevice } from "../../../../simulators/amt/device.ts";
import { startHomeAssistant } from "../../../../simulators/homeassistant/server.ts";
import type { HttpListener } from "../../../../simulators/http-listener.ts";
import { startIronic } from "../../../../simulators/ironic/server.ts";
import { startRpcConsumer } from "../../../../simulators/rpc/consumer.ts";
import { foundIn, leftBehind } from "./traces.ts";

const SECRET = "canary-sv-3c9d10";
const WRONG_SECRET = "canary-sx-e21f5a";
const HEADER = "canary-hd-48b6f2";
const SIGNATURE = {
  algorithm: "sha256",
  secrets: [SECRET],
  header: "x-bmclib-signature-256",
  included: [],
  prefixed: true,
} as const;
/** Where nothing listens: the system gives out higher ports by itself. */
const REFUSING_PORT = 1;

interface Server {
  readonly http: HttpListener;
  close(): Promise<void>;
}

interface Kind {
  readonly title: string;
  start(tls: "http" | undefined): Promise<Server>;
  /** The connection to a server, with what it takes for its secret. */
  connection(scheme: string, port: number, secret: string): Readonly<Record<string, unknown>>;
}

const kinds: readonly Kind[] = [
  {
    title: "amt",
    start: (tls) => startAmtDevice({ password: SECRET, ...(tls && { tls }) }),
    connection: (scheme, port, password) => ({
      username: "admin",
      password,
      providers: ["amt"],
      amt: { scheme, port },
    }),
  },
  {
    title: "rpc",
    start: (tls) => startRpcConsumer({ signature: SIGNATURE, ...(tls && { tls }) }),
    connection: (scheme, port, secret) => ({
      rpc: {
        url: `${scheme}://127.0.0.1:${port}/`,
        headers: { "X-Api-Token": [HEADER] },
        signature: { secrets: { sha256: [secret] } },
      },
    }),
  },
  {
    title: "homeassistant",
    start: (tls) => startHomeAssistant({ token: SECRET, ...(tls && { tls }) }),
    connection: (scheme, port, password) => ({
      password,
      homeassistant: { url: `${scheme}://127.0.0.1:${port}`, entity: "switch.node_1" },
    }),
  },
  {
    title: "ironic",
    start: (tls) =>
      startIronic({ auth: "keystone", login: { username: "admin", password: SECRET }, ...(tls && { tls }) }),
    connection: (scheme, port, password) => {
      const url = `${scheme}://127.0.0.1:${port}`;
      const ironic = { url, node: "node-1", auth: "password", keystone: { url } };
      return { username: "admin", password, ironic };
    },
  },
];

interface Scenario {
  readonly title: string;
  /** Error class of the first operation; undefined means success. */
  readonly class: ErrorClass | undefined;
  readonly tls?: true;
  readonly secret?: string;
  readonly port?: number;
  readonly fault?: "truncated";
}

const scenarios: readonly Scenario[] = [
  { title: "success", class: undefined },
  { title: "a refused secret", class: "auth", secret: WRONG_SECRET },
  { title: "an unknown certificate", class: "tls", tls: true },
  { title: "a server that is not there", class: "unreachable", port: REFUSING_PORT },
  { title: "a truncated answer", class: "protocol", fault: "truncated" },
];

describe.concurrent.each(kinds)("no secret is left behind via $title", (kind) => {
  test.each(scenarios)("after $title", async (scenario) => {
    const server = await kind.start(scenario.tls ? undefined : "http");
    await using _ = { [Symbol.asyncDispose]: () => server.close() };
    // A reading that is cut is asked again, a few times.
    if (scenario.fault) for (let times = 0; times < 20; times += 1) server.http.fail(scenario.fault);
    const connection = Connection.parse({
      host: "127.0.0.1",
      connectTimeoutMs: 5_000,
      requestTimeoutMs: 5_000,
      ...kind.connection(
        server.http.certificate ? "https" : "http",
        scenario.port ?? server.http.port,
        scenario.secret ?? SECRET,
      ),
    });

    const { text, classes } = await leftBehind(connection, 10);

    expect(classes[0]).toBe(scenario.class);
    expect(foundIn(text, [SECRET, WRONG_SECRET, HEADER])).toEqual([]);
  });
});
