import { expect, it } from "vitest";
import { systemClock } from "../../../shared/clock.ts";
import { silentLogger } from "../../../shared/logger.ts";
import { exampleTemplate } from "../../../simulators/tink/example-template.ts";
import { tinkCommand } from "../../../simulators/tink/main.ts";
import { legacyServerApi } from "../../../worker/features/legacy/legacy-transport.ts";
import { connectTinkServer } from "../../../worker/sources/server/tink-server.ts";
import { fileFolder } from "../../support/test-folder.ts";
import { simulate } from "./simulate.ts";

const never = new AbortController().signal;
const { write } = await fileFolder();
const template = await write(
  "template.yaml",
  exampleTemplate([{ worker: "{{ .agent }}", actions: ["power-off"] }]),
);

it.each([
  ["tink", "success", 0, ["PENDING", "RUNNING", "POST", "SUCCESS"]],
  ["tink", "failed", 1, ["PENDING", "RUNNING", "FAILED"]],
  ["tink-legacy", "success", 0, ["PENDING", "RUNNING", "POST", "SUCCESS"]],
] as const)(
  "%s prints every change, acknowledges the last report, and after %s exits %i",
  async (name, state, code, states) => {
    const flags = ["--port", "0", "--template", template, "--map", "agent=pbnj", "--namespace", "team-a"];
    const { lines, ended } = await simulate(name, ...flags, "--until-done");
    const transport = connectTinkServer({
      ...{ server: lines[0]?.["address"] ?? "", tls: false, api: "auto", legacy: legacyServerApi() },
      ...{ clock: systemClock, log: silentLogger, maxBackoffMs: 1_000 },
    });
    const poll = await transport.next("pbnj", never);
    if (poll.kind !== "action") throw new Error(JSON.stringify(poll));
    const { action } = poll;
    const startedAt = new Date();
    await transport.report({ action, state: "running", startedAt, message: "" }, never);
    const end = { action, state, startedAt, stoppedAt: new Date(), message: "" };
    const acknowledgement = await transport.report(end, never);
    const ending = await ended;
    await transport.close();

    expect(acknowledgement).toEqual({ kind: "acknowledged" });
    expect(lines.flatMap((line) => line["state"] ?? [])).toEqual(states);
    expect(lines.at(-1)?.["workflow"]).toBe("team-a/workflow-1");
    expect(ending).toEqual([code, null]);
  },
);

it.each([
  ["--until-done needs a --template", ["--until-done"]],
  ["no such file", ["--template", "/nonexistent"]],
  ["It is not a port.", ["--port", "x"]],
  ["Write it as key=value.", ["--map", "x"]],
  ["no value for agent", ["--port", "0", "--template", template]],
])("tink says %j instead of starting", async (message, flags) => {
  const command = tinkCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });

  await expect(command.parseAsync(flags, { from: "user" })).rejects.toMatchObject({
    message: expect.stringContaining(message),
    exitCode: 1,
  });
});

it("tink ends with 0 on SIGTERM", async () => {
  const { child, ended } = await simulate("tink", "--port", "0");

  child.kill("SIGTERM");

  expect(await ended).toEqual([0, null]);
});
