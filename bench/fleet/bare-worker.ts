import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, createSecureContext } from "node:tls";
import { parseArgs } from "node:util";
import { type buildConnector, Client } from "undici";
import { type Backoff, backoffMs } from "../../shared/backoff.ts";
import type { Action } from "../../worker/core/action/action.ts";
import { ActionQueue, ActionSlots, MachineLocks } from "../../worker/core/queue/action-queue.ts";
import { connectTinkApi } from "../../worker/sources/tink/tink-api.ts";

interface Inventory {
  readonly defaults: { readonly credentials: { readonly username: string; readonly passwordFile: string } };
  readonly machines: readonly {
    readonly name: string;
    readonly redfish: { readonly port: number; readonly scheme: "http" | "https" };
  }[];
}

type Redfish = Inventory["machines"][number]["redfish"];

const SYSTEM = "/redfish/v1/Systems/1";
const RETRY_MS = 1_000;
/** The library's own poll intervals. */
const POLL: Backoff = { firstMs: 500, maxMs: 5_000, factor: 1.5 };
const secureContext = createSecureContext();
const sessions = new Map<string, Buffer>();
const NEVER = new AbortController().signal;

/**
 * The program: the least that a worker does, as the floor of the figures. It takes the worker's arguments, and sends the
 * polls, reports and requests to the BMC that the work needs. Each step is a line in a file, which is synced before the first request
 * and before the last report. It verifies, logs and redacts nothing, knows the simulated BMCs alone, and ends at its first error.
 */
if (import.meta.main) {
  const { values } = parseArgs({
    strict: false,
    options: {
      "grpc-server": { type: "string" },
      inventory: { type: "string" },
      "max-actions": { type: "string" },
    },
  });
  const inventory: Inventory = JSON.parse(await readFile(String(values["inventory"]), "utf8"));
  const { username, passwordFile } = inventory.defaults.credentials;
  const password = (await readFile(passwordFile, "utf8")).trim();
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const folder = join(process.env["XDG_STATE_HOME"] ?? ".", "steps");
  await mkdir(folder);
  const transport = connectTinkApi({ server: String(values["grpc-server"]), tls: false });
  const queue = new ActionQueue(new MachineLocks(), new ActionSlots(Number(values["max-actions"])));

  const carryOut = async (action: Action, { port, scheme }: Redfish) => {
    const startedAt = new Date();
    const steps = await open(join(folder, action.actionId), "w");
    const step = (phase: string) => steps.write(`${JSON.stringify({ ...action, phase })}\n`);
    const running = { action, state: "running", startedAt, message: "running" } as const;
    await transport.report(running, NEVER);
    await step("launched");
    await steps.sync();
    const bmc = new Client(`${scheme}://127.0.0.1:${port}`, { connect: scheme === "https" ? openTls : {} });
    await act(action.name, bmc, authorization);
    await bmc.close();
    await step("ended");
    await steps.sync();
    await transport.report({ ...running, state: "success", stoppedAt: new Date() }, NEVER);
    await step("acknowledged");
    await steps.close();
  };
  const lane = async (agentId: string, redfish: Redfish) => {
    for (;;) {
      const poll = await transport.next(agentId, NEVER);
      if (poll.kind !== "action") await sleep(RETRY_MS);
      else {
        const { action } = poll;
        await queue.enqueue({}, NEVER, () => carryOut(action, redfish), { workflowId: action.workflowId });
      }
    }
  };
  await Promise.all(inventory.machines.map(({ name, redfish }) => lane(`pbnj-${name}`, redfish)));
}

async function act(name: string, bmc: Client, authorization: string): Promise<void> {
  const send = async (method: "GET" | "POST" | "PATCH", path: string, content?: object) => {
    const headers = { authorization, "content-type": "application/json" };
    const body = content === undefined ? null : JSON.stringify(content);
    const answer = await bmc.request({ method, path, headers, body });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
  if (name === "set-pxe-once") {
    const Boot = { BootSourceOverrideEnabled: "Once", BootSourceOverrideTarget: "Pxe" };
    await send("PATCH", SYSTEM, { Boot });
    await send("GET", SYSTEM);
    return;
  }
  const [ResetType, wanted] = name === "power-off" ? ["ForceOff", "Off"] : ["On", "On"];
  await send("GET", SYSTEM);
  await send("POST", `${SYSTEM}/Actions/ComputerSystem.Reset`, { ResetType });
  let attempt = 0;
  do {
    attempt += 1;
    await sleep(backoffMs(POLL, attempt));
  } while ((await send("GET", SYSTEM)).PowerState !== wanted);
  if (wanted === "On") return;
  await sleep(POLL.firstMs);
  await send("GET", SYSTEM);
}

/** Resumes the BMC's last session, and believes any certificate. */
function openTls(
  { hostname, port }: buildConnector.Options,
  onOpen: (...opened: Parameters<buildConnector.Callback>) => void,
): void {
  const session = sessions.get(port);
  const socket = connect({
    host: hostname,
    port: Number(port),
    secureContext,
    rejectUnauthorized: false,
    ...(session && { session }),
  });
  socket.on("session", (data: Buffer) => sessions.set(port, data));
  socket.once("secureConnect", () => onOpen(null, socket)).once("error", (error) => onOpen(error, null));
}
