import { describe, expect, it } from "vitest";
import { z } from "zod";
import { exitCodeOf } from "../../../shared/contract/exit-code.ts";
import { lineStyleFor, renderCounts, renderFinding } from "../../../worker/doctor/render-report.ts";
import { DoctorReport, reportOf } from "../../../worker/doctor/report.ts";
import { findingOf, okFinding, skippedFinding } from "../../../worker/findings/finding.ts";
import { tcpBlackHole } from "../../actions/lab.ts";
import { wholeLab } from "./doctor-lab.ts";

it("gives a check that comes to no end its time and no more", async () => {
  await using lab = await wholeLab();
  await using hole = await tcpBlackHole();

  const report = await lab.report([
    ...["--inventory", lab.inventoryFile, "--timeout", "1s"],
    ...["--grpc-server", `127.0.0.1:${hole.port}`],
  ]);

  expect(report.of("tink-server")).toMatchObject([{ cause: "server-silent", class: "timeout" }]);
  expect(report.exitCode).toBe(exitCodeOf("timeout"));
});

describe("the report", () => {
  const problem = findingOf("bmc-unreachable", "no answer", { subject: "node-1" });
  const local = findingOf("engine-forbidden", "no permission", { facts: { how: "join the group" } });

  it.each([
    ["nothing is wrong", [okFinding("policy", "all is well"), skippedFinding("bmc", "not asked")], 0],
    ["a warning is no failure", [findingOf("deprecated-api", "old")], 0],
    ["the first problem decides", [problem, local], 11],
    ["a problem without a class is 1", [local, problem], 1],
  ])("ends with the right code: %s", (_, findings, exitCode) => {
    const report = reportOf(findings);

    expect(report.exitCode).toBe(exitCode);
    expect(report.ok).toBe(exitCode === 0);
    expect(DoctorReport.parse(report)).toEqual(report);
  });

  it("has a schema that says what everything is", () => {
    const schema = z.toJSONSchema(DoctorReport);

    expect(schema).toMatchObject({ type: "object", additionalProperties: false });
    expect(JSON.stringify(schema)).toContain("How to fix it, in one line");
  });
});

describe("lines for people", () => {
  const wrong = findingOf("deprecated-api", "an old \u001b[2Jserver", { subject: "tink:42113" });

  it("are plain without a terminal", () => {
    expect(renderFinding(wrong, "plain")).toBe(
      "warning  tink-server      tink:42113: an old [2Jserver\n" +
        "                          fix: upgrade to Tinkerbell 0.17 or later\n",
    );
  });

  it("have marks and colour on a terminal, and nothing of what a server sent to it", () => {
    const text = renderFinding(wrong, "coloured");

    const [first] = text.split("\n");
    expect(first).toBe("\u001b[33m! warning\u001b[0m  tink-server      tink:42113: an old [2Jserver");
    expect(text.split("\n")[1]).toMatch(/^ {28}fix: /);
  });

  it.each([
    [{ isTTY: true }, {}, "coloured"],
    [{ isTTY: true }, { NO_COLOR: "1" }, "plain"],
    [{ isTTY: true }, { NO_COLOR: "" }, "coloured"],
    [{ isTTY: true }, { TERM: "dumb" }, "plain"],
    [{}, {}, "plain"],
  ] as const)("look for %j with %j: %s", (stream, env, look) => {
    expect(lineStyleFor(stream, env)).toBe(look);
  });

  it("count in words", () => {
    expect(renderCounts({ problem: 0, warning: 1, skipped: 2, ok: 3 })).toBe(
      "no problem, 1 warning, 3 ok, 2 skipped\n",
    );
    expect(renderCounts({ problem: 1, warning: 0, skipped: 0, ok: 0 })).toBe("1 problem, 0 ok\n");
  });
});
