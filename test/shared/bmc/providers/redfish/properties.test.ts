import { createServer, type Server } from "node:http";
import { createServer as createTcp } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { redfish } from "../../../../../shared/bmc/providers/redfish/redfish-provider.ts";
import { decodeBody } from "../../../../../shared/bmc/providers/redfish/service/body.ts";
import type { Clock } from "../../../../../shared/clock.ts";
import { BmcError } from "../../../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../../../shared/contract/connection.ts";
import { silentLogger } from "../../../../../shared/logger.ts";
import { driverCalls } from "../../../../support/driver-calls.ts";

/** Failing cases print their seed; the deadline is generous, what it guards against is an endless loop. */
const runs = { numRuns: 6, interruptAfterTimeLimit: 60_000 } as const;
const OVERALL_MS = 120_000;

/** Waits cost nothing here and count in full. */
function hastyClock(): Clock {
  let ms = 0;
  return {
    now: () => Date.parse("2025-06-01T00:00:00Z") + ms,
    monotonicMs: () => ms,
    sleep: async (duration, signal) => {
      signal?.throwIfAborted();
      ms += duration;
    },
  };
}

/** What the peer answers next, whatever it is asked. */
let answer: { readonly status: number; readonly body: Buffer; readonly type: string };
let asked = 0;
let server: Server;
let port = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked++;
    request.resume();
    response.writeHead(answer.status, { "content-type": answer.type });
    response.end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening");
  port = address.port;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const connection = (to: number) =>
  Connection.parse({
    host: "127.0.0.1",
    username: "admin",
    password: "canary-password",
    requestTimeoutMs: 5_000,
    redfish: { port: to, scheme: "http" },
  });

const signal = new AbortController().signal;

/** Everything a session can be asked, each call on its own. */
const operations = await driverCalls(["power", "boot", ...redfish.capabilities]);

/** With it, opening sends nothing, and the first answer reaches the operation. */
const HINT = { system: "/redfish/v1/Systems/1", sel: "/l", media: { slot: "/m" } };

/** Runs one operation; only typed errors, and no error knows a password. */
async function exercise(name: string, to: number, hint?: typeof HINT): Promise<void> {
  let session: Session | undefined;
  try {
    session = await redfish.open(connection(to), { clock: hastyClock(), log: silentLogger, hint }, signal);
    await operations.get(name)?.(session, signal);
    expect(JSON.parse(JSON.stringify(session.hint()))).toBeTypeOf("object");
  } catch (error) {
    if (!(error instanceof BmcError)) throw error;
    expect(error.class).not.toBe("internal");
    expect(error.message).not.toContain("canary");
    // One line, which fits into a report.
    expect(error.message).toMatch(/^\P{Cc}{1,2000}$/u);
  } finally {
    await session?.close();
  }
}

/** Opens a session without a hint: the BMC is asked for its systems, whatever is to be done. */
const findSystem = (to: number) => exercise("power.read", to);

/** JSON with the keys that are read, so that it gets past the first look. */
const keys = fc.constantFrom(
  "@odata.id",
  "@odata.etag",
  "Members",
  "Members@odata.nextLink",
  "PowerState",
  "Boot",
  "BootSourceOverrideTarget",
  "BootSourceOverrideMode",
  "BootSourceOverrideTarget@Redfish.AllowableValues",
  "Actions",
  "#ComputerSystem.Reset",
  "#Manager.Reset",
  "#LogService.ClearLog",
  "target",
  "@Redfish.ActionInfo",
  "@Redfish.Settings",
  "SettingsObject",
  "Parameters",
  "Links",
  "ManagedBy",
  "Drives",
  "VirtualMedia",
  "LogServices",
  "NetworkProtocol",
  "NTP",
  "NTPServers",
  "UserName",
  "Id",
  "Image",
  "Inserted",
  "MediaTypes",
  "Storage",
  "Memory",
  "Created",
  "Message",
  "error",
  "@Message.ExtendedInfo",
  "MessageId",
  "TaskState",
  "DateTime",
  "ServerScreenShotFile",
);
const leaves = fc.oneof(
  fc.constantFrom<unknown>(
    "/redfish/v1/Systems/1",
    "/redfish/v1/Managers/1",
    "/redfish/v1/Systems/1/LogServices/SEL",
    "//192.0.2.1/x",
    "http://[::",
    "On",
    "",
    null,
    true,
    0,
    -1,
    1e308,
  ),
  fc.string(),
  fc.double(),
);
const { redfishJson } = fc.letrec<{ redfishJson: unknown }>((tie) => ({
  redfishJson: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaves,
    fc.array(tie("redfishJson"), { maxLength: 4 }),
    fc.dictionary(keys, tie("redfishJson"), { maxKeys: 8 }),
  ),
}));
const statuses = fc.constantFrom(200, 200, 200, 201, 202, 204, 400, 404, 405, 409, 412, 428, 500, 503);

/** Only typed errors, in few requests, whatever JSON is answered. */
async function withAnyJson(call: (to: number) => Promise<void>, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.oneof(redfishJson, fc.jsonValue()), statuses, async (body, status) => {
      const text = status === 204 ? "" : JSON.stringify(body);
      answer = { status, body: Buffer.from(text), type: "application/json" };
      asked = 0;
      await call(port);
      // Task monitors are polled to a deadline of their own; everything else is bounded by design.
      expect(asked).toBeLessThan(3_000);
    }),
    { ...runs, numRuns },
  );
}

describe("fails with a typed error, or not at all, in few requests, whatever JSON is answered", () => {
  test("finding the system", { timeout: OVERALL_MS }, () => withAnyJson(findSystem, 150));

  test.each([...operations.keys()])("%s", { timeout: OVERALL_MS }, (name) =>
    withAnyJson((to) => exercise(name, to, HINT), runs.numRuns),
  );
});

test("bytes that need not be JSON are typed errors, for every operation", {
  timeout: OVERALL_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...operations.keys()),
      fc.uint8Array({ maxLength: 400 }),
      statuses.filter((status) => status !== 204),
      fc.constantFrom("application/json", "text/html", "", "application/json; charset=x"),
      async (name, bytes, status, type) => {
        answer = { status, body: Buffer.from(bytes), type };
        await findSystem(port);
        await exercise(name, port, HINT);
      },
    ),
    // They are decoded before the operation sees them: a case of each is enough.
    { ...runs, numRuns: operations.size },
  );
});

/** JSON that a BMC with broken memory or firmware could answer, longer than any text is shown and deeper than a stack holds. */
const JUNK: Readonly<Record<string, string>> = {
  "a number beyond all sense": `{"Members": [${"9".repeat(400)}], "PowerState": 1e999, "Members@odata.count": 1e300}`,
  "other types": `{"Members": "x", "Actions": [], "Boot": 7, "Links": true, "Attributes": [[]], "Id": {}, "error": []}`,
  "control characters": JSON.stringify({
    error: { message: "a\u0000b\r\nc\u001b[31m\u2028d", code: "\u0007" },
    PowerState: "\u001b[2J\n",
    Id: "\r\n",
  }),
  "texts without an end": JSON.stringify({
    error: { message: "x".repeat(8_000), code: "y".repeat(8_000) },
    PowerState: "z".repeat(8_000),
    Id: "w".repeat(8_000),
  }),
  "nesting without an end": `{"Members": ${"[".repeat(12_000)}${"]".repeat(12_000)}, "error": ${'{"a":'.repeat(12_000)}1${"}".repeat(12_000)}}`,
};

test.each(Object.entries(JUNK))(
  "%s is at most a typed error in one line, for every operation",
  {
    timeout: OVERALL_MS,
  },
  async (_, text) => {
    for (const status of [200, 400, 500]) {
      answer = { status, body: Buffer.from(text), type: "application/json" };
      await findSystem(port);
      for (const name of operations.keys()) await exercise(name, port, HINT);
    }
  },
);

test("bytes that need not be HTTP are typed errors", { timeout: OVERALL_MS }, async () => {
  let bytes: Uint8Array = new Uint8Array();
  const raw = createTcp((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(bytes));
  });
  await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
  const address = raw.address();
  if (address === null || typeof address === "string") throw new Error("not listening");
  const head = Buffer.from("HTTP/1.1 200 OK\r\n");
  try {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (tail, withHead) => {
        bytes = withHead ? Buffer.concat([head, tail]) : tail;
        await findSystem(address.port);
        await exercise("power.read", address.port, HINT);
      }),
      runs,
    );
  } finally {
    await new Promise((resolve) => raw.close(resolve));
  }
});

// Links, refusals, clocks and redaction have targets of their own in test/fuzz/targets/bmc.ts.
test("bodies are decoded or called what they are", async () => {
  const headers = fc.record({
    "content-type": fc.constantFrom("application/json", "text/plain"),
    "content-encoding": fc.constantFrom("identity", "gzip", "br"),
  });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array(), headers, async (bytes, given) => {
      const decoded = await decodeBody(Buffer.from(bytes), given, 1_000);
      expect(decoded.problem === undefined || decoded.value === undefined).toBe(true);
    }),
  );
});
