import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { workingLab } from "../../../support/lab.ts";
import { StreamReader } from "./status-lab.ts";

const SLOW_TEST_MS = 120_000;
const SERVING = "serving the status page, metrics and health";
const anywhere = ["--http-address", "127.0.0.1:0"];

const Status = z.object({
  machines: z.array(z.unknown()),
  actions: z.array(z.looseObject({ key: z.string(), durationMs: z.optional(z.number()) })),
});

/** What a stream has said of a section, as one text. */
const said = ({ updates }: StreamReader, section: string) =>
  updates.flatMap((update) => Object.values(update[section]?.rows ?? {})).join("\n");

async function follow(program: Awaited<ReturnType<typeof workingLab>>["worker"], path: string) {
  const { address } = await program.untilLogged(SERVING);
  const reader = new StreamReader(`${address}/events?of=${encodeURIComponent(path)}`);
  onTestFinished(() => reader[Symbol.asyncDispose]());
  await reader.opened;
  return { url: String(address), reader };
}

describe("the status page of a worker", () => {
  test("follows an action at a BMC from its start to the power that it left", {
    timeout: SLOW_TEST_MS,
  }, async () => {
    await using lab = await workingLab({
      machines: { "node-01": { power: "on", softOffMs: "never" }, "node-02": { power: "off" } },
      argv: anywhere,
    });
    const { url, reader } = await follow(lab.worker, "/");

    const workflow = lab.submit("pbnj-node-01", {
      name: "power-off",
      environment: { MODE: "soft-then-hard", SOFT_TIMEOUT: "2s", LOG_LEVEL: "debug" },
    });
    await reader.until(() => said(reader, "in-flight").includes("power-off"));
    await reader.until(() => said(reader, "machines").includes("node-01: off"));
    await lab.server.until(() => workflow.state === "SUCCESS");
    const status = Status.parse(await (await fetch(`${url}/status.json`)).json());
    const [action] = status.actions;
    const page = await (await fetch(`${url}/actions/${action?.key}`)).text();

    expect(status.machines).toMatchObject([
      {
        name: "node-01",
        bmc: { host: "127.0.0.1", url: expect.stringMatching(/^https?:\/\/127\.0\.0\.1:\d+$/) },
        power: { state: "off", by: "power-off" },
        provider: "redfish",
        facts: { vendor: "Contoso" },
        atHand: [],
      },
      { name: "node-02", atHand: [] },
    ]);
    expect(action).toMatchObject({
      ...{ name: "power-off", machine: "node-01", phase: "succeeded", runtime: "in-process" },
      ...{ agentId: "pbnj-node-01", provider: "redfish", exitCode: 0, workflow: workflow.id },
    });
    // SOFT_TIMEOUT, on `quickClock`.
    expect(action?.durationMs).toBeGreaterThan(500);
    expect(page).toMatch(/<li data-row="0" class="\w+"><time>/);
  });

  test("shows a machine's console while an action watches it", { timeout: SLOW_TEST_MS }, async () => {
    await using lab = await workingLab({
      machines: { "node-01": { power: "on" } },
      argv: anywhere,
      providers: ["redfish", "ipmi"],
    });
    const { url, reader } = await follow(lab.worker, "/");
    const environment = { UNTIL: "iPXE" };
    const workflow = lab.submit("pbnj-node-01", { name: "watch-console", environment });
    await reader.until(() =>
      said(reader, "in-flight").includes("waiting for &quot;iPXE&quot; on the console"),
    );
    const [action] = Status.parse(await (await fetch(`${url}/status.json`)).json()).actions;
    const { reader: details } = await follow(lab.worker, `/actions/${action?.key}`);

    lab.machine("node-01").print("\u001b[1mMemory test\u001b[0m passed <calvin>\r\n");
    await details.until(() =>
      said(details, "log").includes("console: Memory test passed &lt;[redacted]&gt;"),
    );
    expect(workflow.state).toBe("RUNNING");

    lab.machine("node-01").print("iPXE initialising devices...\r\n");
    await lab.server.until(() => workflow.state === "SUCCESS");
  });
});
