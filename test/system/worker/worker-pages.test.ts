import { chmod } from "node:fs/promises";
import { Agent, request } from "undici";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createCertificate } from "../../../simulators/certificate.ts";
import { definitions } from "../../../worker/features/metrics/definitions.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { type LabOptions, openLab } from "../../support/lab.ts";
import type { StartedProgram } from "../../support/program-log.ts";
import { testFolder } from "../../support/test-folder.ts";
import { readPrometheusText } from "../../worker/features/metrics/exposition-reader.ts";

const SERVING = "serving the status page, metrics and health";
const ANY_PORT = ["--http-address", "127.0.0.1:0"];

async function pagesOf(program: StartedProgram) {
  const url = z.string().parse((await program.untilLogged(SERVING))["address"]);
  const status = async (path: string) => (await fetch(`${url}${path}`)).status;
  return {
    url,
    status,
    json: async (path: string) => (await fetch(`${url}${path}`)).json(),
    async metrics() {
      const text = await (await fetch(`${url}/metrics`)).text();
      const families = readPrometheusText(text);
      return {
        text,
        names: [...families.keys()],
        /** Every sample of the metric, by its labels. */
        of: (name: string) =>
          (families.get(name)?.samples ?? []).map(({ labels, value }) => ({ ...labels, value })),
      };
    },
  };
}

/** A rack, and a worker that serves it, inside this process or as a process of its own. */
async function rackLab(
  options: LabOptions,
  Worker: new (argv: readonly string[]) => StartedProgram = CommandInProcess,
) {
  const lab = await openLab(options);
  // The test's own flags come last, and may choose another runtime.
  const [command = "", ...argv] = lab.argv();
  return { ...lab, program: lab.own(new Worker([command, "--runtime", "in-process", ...argv])) };
}

describe("a running worker", () => {
  test("exports what it does, and is alive and ready", { timeout: 60_000 }, async () => {
    await using lab = await rackLab({
      machines: { one: {}, two: {} },
      argv: [...ANY_PORT, "--runtime", "process"],
    });
    const pages = await pagesOf(lab.program);
    const good = lab.submit("pbnj-one", { name: "power-off", environment: { MODE: "hard" } });
    const bad = lab.submit("pbnj-two", { name: "power-off", environment: { MODE: "sideways" } });
    await lab.server.until(() => good.state === "SUCCESS" && bad.state === "FAILED");
    await expect
      .poll(async () => (await pages.metrics()).of("pbnj_actions_unreported"), { timeout: 20_000 })
      .toEqual([{ value: 0 }]);

    const metrics = await pages.metrics();

    expect(metrics.names).toEqual(Object.values(definitions).map(({ name }) => name));
    expect(metrics.of("pbnj_tasks_total")).toEqual(
      expect.arrayContaining([
        { action: "power-off", provider: "redfish", class: "none", value: 1 },
        { action: "power-off", provider: "none", class: "usage", value: 1 },
      ]),
    );
    expect(metrics.of("pbnj_launches_total")).toEqual([{ runtime: "process", value: 2 }]);
    expect(metrics.of("pbnj_bmc_round_trips_total")).toEqual([
      { provider: "redfish", value: expect.toSatisfy((count: number) => count >= 3 && count < 30) },
    ]);
    expect(metrics.of("pbnj_lanes").reduce((sum, { value }) => sum + value, 0)).toBe(2);
    expect(metrics.of("pbnj_machines")).toEqual([{ value: 2 }]);
    expect(metrics.of("pbnj_tink_server_connected")).toEqual([{ value: 1 }]);
    expect(metrics.of("pbnj_final_reports_total")).toContainEqual({ delivery: "acknowledged", value: 2 });
    expect(metrics.of("pbnj_journal_operations_total")).toContainEqual({
      step: "write",
      result: "failed",
      value: 0,
    });
    expect(metrics.of("pbnj_check_passing").map(({ value }) => value)).toEqual([1, 1, 1, 1]);
    expect(await pages.status("/healthz")).toBe(200);
    expect(await pages.json("/readyz")).toMatchObject({ ok: true });
  });

  test("stops at once, even while its pages are read", async () => {
    await using lab = await rackLab({ machines: { one: {} }, argv: ANY_PORT });
    const pages = await pagesOf(lab.program);
    await lab.program.untilLogged("worker started");
    await pages.metrics();

    lab.program.kill("SIGTERM");

    expect(await lab.program.ended).toEqual({ code: 0, signal: null });
    await expect(fetch(pages.url)).rejects.toThrow("fetch failed");
  });
});

describe("a worker whose address is in use", () => {
  test("exits with one line and code 75 if the address is configured", async () => {
    await using first = await rackLab({ machines: { one: {} }, argv: ANY_PORT });
    const { host } = new URL((await pagesOf(first.program)).url);

    await using second = new CommandInProcess([
      ...["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "a", "--http-address", host],
    ]);

    expect(await second.ended).toEqual({ code: 75, signal: null });
    expect(second.stderr).toBe(
      `pbnj-worker start: cannot listen on ${host} (http-address): it is in use, by another worker or program\n`,
    );
  });
});

describe("a worker on an address that others can reach", () => {
  test("does not start without authentication, and says how to add it", async () => {
    await using worker = new CommandInProcess([
      ...["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "a", "--http-address", "0.0.0.0:0"],
    ]);

    expect(await worker.ended).toEqual({ code: 2, signal: null });
    expect(worker.stderr).toContain("Fix: set --http-token-file or --http-client-ca-file");
  });

  test("serves probes to all and pages with the current token, over TLS", async () => {
    const { write, folder } = await testFolder();
    const { cert, key } = createCertificate({ commonName: "worker", altNames: ["127.0.0.1"] });
    const [first, second] = ["first-0123456789", "second-0123456789"];
    const tokenFile = await write("token", first, 0o644);
    const [certFile, keyFile] = [await write("tls.crt", cert), await write("tls.key", key)];
    await chmod(folder, 0o755);
    await using lab = await rackLab({
      machines: { one: {} },
      argv: [
        ...["--http-address", "0.0.0.0:0", "--http-token-file", tokenFile],
        ...["--http-cert-file", certFile, "--http-key-file", keyFile],
      ],
    });
    const address = z.string().parse((await lab.program.untilLogged(SERVING))["address"]);
    const url = address.replace("0.0.0.0", "127.0.0.1");
    const dispatcher = new Agent({ connect: { ca: cert } });
    const status = async (path: string, token = "") =>
      (await request(`${url}${path}`, { dispatcher, headers: { authorization: `Bearer ${token}` } }))
        .statusCode;

    expect(await status("/healthz")).toBe(200);
    expect([await status("/metrics"), await status("/status.json")]).toEqual([401, 401]);
    expect([await status("/metrics", first), await status("/", first)]).toEqual([200, 200]);
    await lab.program.untilLogged("secret file is readable by every user of this host", { file: tokenFile });

    await write("token", second);

    await lab.program.untilLogged("http-token-file reloaded");
    expect([await status("/", first), await status("/", second)]).toEqual([401, 200]);
    expect(lab.program.stderr).not.toContain(second);
    await dispatcher.destroy();
  });
});

describe("a worker without an HTTP address", () => {
  test("serves nothing", async () => {
    await using lab = await rackLab({ machines: { one: {} } });

    await lab.program.untilLogged("worker started");

    expect(lab.program.log.map(({ msg }) => msg)).not.toContain(SERVING);
  });
});
