import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { expect, it } from "vitest";
import { systemClock } from "../../../shared/clock.ts";
import { silentLogger } from "../../../shared/logger.ts";
import { exampleTemplate } from "../../../simulators/tink/example-template.ts";
import { legacyServerApi } from "../../../worker/features/legacy/legacy-transport.ts";
import { connectTinkServer } from "../../../worker/sources/server/tink-server.ts";

const never = new AbortController().signal;
const program = join(import.meta.dirname, "../../../simulators/main.ts");

it("runs from the command line, prints every change and exits 0 when all succeeded", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-tink-legacy-"));
  const template = join(folder, "template.yaml");
  await writeFile(template, exampleTemplate([{ worker: "{{ .agent }}", actions: ["power-off"] }]));
  const args = ["tink-legacy", "--port", "0", "--template", template, "--map", "agent=pbnj", "--until-done"];
  const child = execa("node", [program, ...args], { preferLocal: true, reject: false, timeout: 110_000 });
  const lines: { readonly address?: string; readonly state?: string }[] = [];
  const output = createInterface({ input: child.stdout });
  output.on("line", (line) => lines.push(JSON.parse(line)));
  await once(output, "line");
  const options = { server: lines[0]?.address ?? "", tls: false, api: "auto" } as const;
  const transport = connectTinkServer({
    legacy: legacyServerApi(),
    ...options,
    clock: systemClock,
    log: silentLogger,
    maxBackoffMs: 1_000,
  });

  const poll = await transport.next("pbnj", never);
  if (poll.kind !== "action") throw new Error(JSON.stringify(poll));
  const { action } = poll;
  const startedAt = new Date();
  await transport.report({ action, state: "running", startedAt, message: "" }, never);
  const end = { action, state: "success", startedAt, stoppedAt: new Date(), message: "" } as const;
  const acknowledgement = await transport.report(end, never);
  const { exitCode } = await child;
  await transport.close();
  await rm(folder, { recursive: true });

  expect(acknowledgement).toEqual({ kind: "acknowledged" });
  expect(lines.flatMap(({ state }) => state ?? [])).toEqual(["PENDING", "RUNNING", "POST", "SUCCESS"]);
  expect(exitCode).toBe(0);
});
