import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { BmcClient } from "../../shared/bmc/client.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { redfishConnection } from "./bmc-lab.ts";
import { scaledClock } from "./scaled-clock.ts";

/** What a hook answers: status, JSON body, headers. */
export type TreeAnswer = readonly [
  status: number,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
];

export interface TreeRequest {
  readonly method: string;
  readonly path: string;
  /** Parsed if it is JSON; undefined without a body. */
  readonly body: unknown;
  readonly headers: IncomingMessage["headers"];
}

export const SYSTEM = "/redfish/v1/Systems/1";

/** A collection with these members. */
export const collection = (...paths: readonly string[]) => ({
  Members: paths.map((path) => ({ "@odata.id": path })),
  "Members@odata.count": paths.length,
});

/** A refusal with one message. */
export const refusal = (id: string, text: string, ...args: readonly string[]) => ({
  error: {
    code: "Base.1.8.GeneralError",
    message: "A general error has occurred. See ExtendedInfo for more information.",
    "@Message.ExtendedInfo": [{ MessageId: id, Message: text, MessageArgs: args }],
  },
});

/** One machine, with a system like this. */
export const treeOf = (
  system: Readonly<Record<string, unknown>>,
): Record<string, Record<string, unknown>> => ({
  "/redfish/v1/Systems": collection(SYSTEM),
  [SYSTEM]: {
    "@odata.id": SYSTEM,
    Id: "1",
    PowerState: "On",
    Actions: {
      "#ComputerSystem.Reset": {
        target: `${SYSTEM}/Actions/ComputerSystem.Reset`,
        "ResetType@Redfish.AllowableValues": ["On", "ForceOff", "ForceRestart", "GracefulShutdown"],
      },
    },
    ...system,
  },
});

/** Serves resources as they are, for trees that no profile of the simulator shows; `hook` answers first. */
export async function startTree(
  tree: Record<string, Record<string, unknown>>,
  hook: (request: TreeRequest) => TreeAnswer | undefined = () => undefined,
) {
  const requests: TreeRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    const { method = "GET", url = "/", headers } = incoming;
    const path = url.replace(/[?].*/, "").replace(/(.)\/$/, "$1");
    const body = /^\s*[[{]/.test(text) ? JSON.parse(text) : text || undefined;
    const request: TreeRequest = { method, path, body, headers };
    requests.push(request);
    const found = tree[path];
    const [status, answer, more] = hook(request) ?? (found && method === "GET" ? [200, found] : [404, {}]);
    response.writeHead(status, { "content-type": "application/json", ...more });
    response.end(answer === undefined ? undefined : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    /** Requests other than GET: method, path below the system, body. */
    writes: () =>
      requests
        .filter(({ method }) => method !== "GET")
        .map(({ method, path, body }) => [method, path, body] as const),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A served tree with a client that is connected to it; `redfish` are options of the connection. */
export async function treeLab(
  tree: ReturnType<typeof treeOf>,
  hook?: (request: TreeRequest) => TreeAnswer | undefined,
  redfish: Readonly<Record<string, unknown>> = {},
) {
  const served = await startTree(tree, hook);
  const given = redfishConnection(served.port);
  const connection = Connection.parse({ ...given, redfish: { ...given.redfish, ...redfish } });
  const client = new BmcClient(connection, { clock: scaledClock(50) });
  return {
    client,
    ...served,
    bodies: () => served.writes().map(([, , body]) => body),
    async [Symbol.asyncDispose]() {
      await client.close();
      await served[Symbol.asyncDispose]();
    },
  };
}
