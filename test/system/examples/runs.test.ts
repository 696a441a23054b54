import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { bmcTasksOf, type ExampleFile, exampleFiles, templateOf } from "../../examples/example-files.ts";
import { runExample } from "../../examples/example-run.ts";
import { scenarios } from "../../examples/scenarios.ts";
import { describeWithProgram } from "../../interop/programs.ts";

/** Several workers, machines and waits of seconds on a machine that may be busy. */
const TIMEOUT_MS = 120_000;

async function itRuns(file: ExampleFile, onTestFinished: TestContext["onTestFinished"]): Promise<void> {
  const scenario = scenarios[file.path];
  if (!scenario) throw new Error(`${file.path} is not run: add it to the scenarios`);
  const folder = await mkdtemp(join(tmpdir(), "pbnj-example-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const started = await scenario.start(folder);
  onTestFinished(() => started.close());

  const { code, stdout, stderr } = await runExample(file, folder, started.machines);

  const actions = bmcTasksOf(templateOf(file)).flatMap((task) =>
    task.actions.map(({ name }) => `${task.name} / ${name}`),
  );
  const succeeded = [...stdout.matchAll(/^(.+?) {2}success in /gm)].map(([, name]) => name);
  expect(succeeded, `${stdout}${stderr}`).toEqual(actions);
  expect(code).toBe(0);
  for (const secret of started.secrets) expect(`${stdout}${stderr}`).not.toContain(secret);
  await started.verify();
}

const { templates } = await exampleFiles();

// Nearly all of a run is waiting, so they wait together.
describe.concurrent("an example does what it says when its command is run:", () => {
  for (const file of templates) {
    const program = scenarios[file.path]?.program;
    const run = () => it(file.path, ({ onTestFinished }) => itRuns(file, onTestFinished), TIMEOUT_MS);
    if (program) describeWithProgram(program, `with ${program}`, run);
    else run();
  }
});
