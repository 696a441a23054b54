import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { z } from "zod";
import { testFolder } from "../support/test-folder.ts";
import { metricsLab } from "../worker/features/metrics/metrics-lab.ts";
import { describeWithProgram, findProgram } from "./programs.ts";

const deploy = new URL("../../deploy/", import.meta.url);

const Dashboard = z.object({
  panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })).optional() })),
});

async function promtool(argv: readonly string[], input = "") {
  const program = findProgram("promtool") ?? "promtool";
  const { exitCode, all } = await execa(program, argv, { input, all: true, reject: false, timeout: 60_000 });
  return { exitCode, said: all };
}

async function checkRules(text: string) {
  const { folder } = await testFolder();
  await writeFile(join(folder, "rules.yaml"), text);
  return promtool(["check", "rules", join(folder, "rules.yaml")]);
}

describeWithProgram("promtool", "promtool", () => {
  it("takes the alerts, and refuses a wrong expression", async () => {
    const alerts = await readFile(new URL("prometheus/alerts.yaml", deploy), "utf8");

    expect(await checkRules(alerts)).toMatchObject({ exitCode: 0 });
    const wrong = alerts.replace("absent(pbnj_build_info)", "absent(pbnj_build_info");
    expect(await checkRules(wrong)).toMatchObject({
      exitCode: 1,
      said: expect.stringContaining("could not parse expression"),
    });
  });

  it("takes each expression of the dashboard", async () => {
    const text = await readFile(new URL("grafana/pbnj-worker.json", deploy), "utf8");
    const expressions = Dashboard.parse(JSON.parse(text)).panels.flatMap(({ targets = [] }) =>
      targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "5m")),
    );
    const rules = expressions.map((expr, index) => ({ record: `panel:expression:${index}`, expr }));

    const checked = await checkRules(JSON.stringify({ groups: [{ name: "dashboard", rules }] }));

    expect(checked).toMatchObject({
      exitCode: 0,
      said: expect.stringContaining(`${expressions.length} rules found`),
    });
  });

  it("takes the metrics, without advice on names and help", async () => {
    await using lab = await metricsLab();

    const checked = await promtool(["check", "metrics"], await (await fetch(lab.url)).text());

    expect(checked).toEqual({ exitCode: 0, said: "" });
  });
});
