import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { catalogue } from "../../../../actions/catalogue.ts";
import { definitions, type MetricDefinition } from "../../../../worker/features/metrics/definitions.ts";
import { labels, labelValues } from "../../../../worker/features/metrics/metric-labels.ts";
import type { DriftSeen } from "../../../../worker/features/shared/drift-seen.ts";
import { codeName } from "../../../../worker/sources/grpc/grpc-errors.ts";
import { readOpenMetricsText, readPrometheusText } from "./exposition-reader.ts";
import { metricsLab, reported, seen, success } from "./metrics-lab.ts";

const OFF = { action: "power-off", provider: "redfish" };

describe("an action", () => {
  test("is counted while it waits, while it runs, until its end is reported, and then by its end", async () => {
    await using lab = await metricsLab();
    const { clock, observer } = lab;
    const action = seen(1);
    const stages = async () => [
      await lab.value("pbnj_actions_waiting"),
      await lab.value("pbnj_tasks_active"),
      await lab.value("pbnj_actions_unreported"),
    ];
    const told: (number | undefined)[][] = [];
    const at = new Date(clock.now());
    const run = { runtime: "process", startedAt: at, timeoutMs: 60_000, adopted: false };

    observer.action({ kind: "taken", action, at });
    told.push(await stages());
    clock.pass(3_000);
    observer.action({ kind: "started", action, ...run });
    told.push(await stages());
    clock.pass(7_000);
    observer.action({ kind: "ended", action, runtime: "process", outcome: success(clock, 7) });
    told.push(await stages());
    observer.action({ kind: "reported", action, delivery: "acknowledged", status: reported(at), at });
    told.push(await stages());

    expect(told).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
      [0, 0, 0],
    ]);
    expect(await lab.value("pbnj_tasks_total", { ...OFF, class: "none" })).toBe(1);
    expect((await lab.read()).get("pbnj_failures_total")?.samples.filter(({ value }) => value !== 0)).toEqual(
      [],
    );
    expect(await lab.value("pbnj_launches_total", { runtime: "process" })).toBe(1);
    expect(await lab.value("pbnj_bmc_round_trips_total", { provider: "redfish" })).toBe(7);
    expect(await lab.value("pbnj_final_reports_total", { delivery: "acknowledged" })).toBe(1);
    const duration = "pbnj_action_duration_seconds";
    expect(await lab.value(`${duration}_sum`, OFF, duration)).toBe(7);
    expect(await lab.value(`${duration}_bucket`, { ...OFF, le: "5" }, duration)).toBe(0);
    expect(await lab.value(`${duration}_bucket`, { ...OFF, le: "10" }, duration)).toBe(1);
    expect(await lab.value("pbnj_action_wait_seconds_sum", {}, "pbnj_action_wait_seconds")).toBe(3);
  });

  test("that fails is counted by its class, with no provider where it named none", async () => {
    await using lab = await metricsLab();
    const action = seen(1);
    const { result: _, ...silent } = success(lab.clock, 1, { ok: false, class: "unreachable" });

    lab.observer.action({ kind: "ended", action, runtime: "process", outcome: silent });

    expect(
      await lab.value("pbnj_tasks_total", { action: "power-off", provider: "none", class: "unreachable" }),
    ).toBe(1);
    expect(await lab.value("pbnj_failures_total", { class: "unreachable" })).toBe(1);
    expect(await lab.value("pbnj_failures_total", { class: "internal" })).toBe(0);
    expect((await lab.read()).get("pbnj_action_duration_seconds")?.samples).toEqual([]);
  });

  test("that is refused or left waits no longer", async () => {
    await using lab = await metricsLab();
    const at = new Date();
    for (const index of [1, 2, 3]) lab.observer.action({ kind: "taken", action: seen(index), at });

    lab.observer.action({ kind: "refused", action: seen(1), reason: "no such machine", at });
    lab.observer.action({ kind: "returned", action: seen(2), at });

    expect(await lab.value("pbnj_actions_waiting")).toBe(1);
    expect(await lab.value("pbnj_actions_refused_total")).toBe(1);
    expect(await lab.value("pbnj_actions_left_total")).toBe(1);
  });

  test("of an earlier worker is an adoption and no launch, and lasts since its own start", async () => {
    await using lab = await metricsLab();
    const action = seen(1);
    const run = { runtime: "docker", startedAt: new Date(), timeoutMs: 60_000, adopted: true };

    lab.observer.action({ kind: "started", action, ...run });
    lab.observer.action({ kind: "ended", action, runtime: "docker", outcome: success(lab.clock, 100) });

    const families = await lab.read();
    expect(families.get("pbnj_adoptions_total")?.samples.map(({ value }) => value)).toEqual([1]);
    expect(families.get("pbnj_launches_total")?.samples).toEqual([]);
    expect(await lab.value("pbnj_action_duration_seconds_sum", OFF, "pbnj_action_duration_seconds")).toBe(
      100,
    );
  });

  test("keeps its duration at nothing when the clock was set back under it", async () => {
    await using lab = await metricsLab();
    const action = seen(1);
    const run = { runtime: "docker", startedAt: new Date(), timeoutMs: 60_000, adopted: false };
    lab.observer.action({ kind: "started", action, ...run });

    lab.observer.action({ kind: "ended", action, runtime: "docker", outcome: success(lab.clock, -3_600) });

    expect(await lab.value("pbnj_action_duration_seconds_sum", OFF, "pbnj_action_duration_seconds")).toBe(0);
  });

  test.each([
    ["registry.example:5000/acme/power-on:v1", "power-on"],
    ["power-on", "power-on"],
    [`power-on@sha256:${"0".repeat(64)}`, "power-on"],
    ["registry.example/power-on/other-tool:v1", "other"],
    ["registry.example/constructor:v1", "other"],
    ['x"}\n evil 1', "other"],
    ["", "other"],
  ])("of the image %j is counted as %s", async (image, name) => {
    await using lab = await metricsLab();

    lab.observer.action({
      ...{ kind: "ended", action: seen(1, image), runtime: "process", outcome: success(lab.clock, 1) },
    });

    const [sample] = (await lab.read()).get("pbnj_tasks_total")?.samples ?? [];
    expect(sample?.labels["action"]).toBe(name);
  });
});

describe("the rest of the worker", () => {
  test("has its lanes by state, as long as they are there", async () => {
    await using lab = await metricsLab();
    const states = (["polling", "polling", "busy", "failing"] as const).entries();
    for (const [index, state] of states) lab.observer.lane(`a-${index}`, state);
    lab.observer.lane("a-0", undefined);

    const found = await Promise.all(
      ["polling", "busy", "failing"].map((state) => lab.value("pbnj_lanes", { state })),
    );

    expect(found).toEqual([1, 1, 1]);
  });

  test("has polls and reports by code, with how long they took", async () => {
    await using lab = await metricsLab();
    lab.clock.pass(5_000);
    lab.observer.poll({ agentId: "a", code: "OK", kind: "idle", durationMs: 60_000 });
    const answeredAt = lab.clock.now() / 1_000;
    lab.clock.pass(5_000);
    lab.observer.poll({ agentId: "a", code: "Unavailable", kind: "failed", durationMs: 1 });
    lab.observer.poll({ agentId: "a", code: "127", kind: "failed", durationMs: 1 });
    lab.observer.report({ action: seen(1), state: "success", code: "Internal", durationMs: 250 });

    expect(await lab.value("pbnj_polls_total", { code: "OK" })).toBe(1);
    expect(await lab.value("pbnj_polls_total", { code: "Unavailable" })).toBe(1);
    expect(await lab.value("pbnj_polls_total", { code: "other" })).toBe(1);
    const polls = "pbnj_poll_duration_seconds";
    expect(await lab.value(`${polls}_sum`, { result: "idle" }, polls)).toBe(60);
    expect(await lab.value("pbnj_reports_total", { state: "success", code: "Internal" })).toBe(1);
    expect(await lab.value("pbnj_report_duration_seconds_sum", {}, "pbnj_report_duration_seconds")).toBe(
      0.25,
    );
    expect(await lab.value("pbnj_tink_server_last_answer_timestamp_seconds")).toBe(answeredAt);
  });

  test("has its journal and its files", async () => {
    await using lab = await metricsLab();
    lab.observer.journal({ step: "write", ok: true, durationMs: 2 });
    lab.observer.journal({ step: "write", ok: false, durationMs: 2 });
    lab.observer.file({ name: "inventory", taken: false });
    lab.observer.file({ name: "policy", taken: false });
    lab.observer.file({ name: "policy", taken: true });

    const step = "write";
    expect(await lab.value("pbnj_journal_operations_total", { step, result: "ok" })).toBe(1);
    expect(await lab.value("pbnj_journal_operations_total", { step, result: "failed" })).toBe(1);
    expect(
      await lab.value("pbnj_journal_duration_seconds_count", { step }, "pbnj_journal_duration_seconds"),
    ).toBe(2);
    expect(await lab.value("pbnj_reloads_total", { file: "policy", result: "taken" })).toBe(1);
    expect(await lab.value("pbnj_file_refused", { file: "inventory" })).toBe(1);
    expect(await lab.value("pbnj_file_refused", { file: "policy" })).toBe(0);
  });

  test("has the calls of PBnJ's API by code", async () => {
    await using lab = await metricsLab();
    for (const code of ["OK", "Unauthenticated", "OK"]) lab.observer.apiCall({ code });

    expect(await lab.value("pbnj_api_calls_total", { code: "OK" })).toBe(2);
    expect(await lab.value("pbnj_api_calls_total", { code: "Unauthenticated" })).toBe(1);
  });

  test("has the reads of hardware by class, and how many machines' hardware is known", async () => {
    await using lab = await metricsLab({ hardwareKnown: () => 2 });
    for (const read of [{}, { class: "unreachable" }, {}] as const) lab.observer.hardwareRead(read);

    expect(await lab.value("pbnj_hardware_reads_total", { class: "none" })).toBe(2);
    expect(await lab.value("pbnj_hardware_reads_total", { class: "unreachable" })).toBe(1);
    expect(await lab.value("pbnj_machines_hardware_known")).toBe(2);
  });

  test("has how many machines differ from their desired state, by setting", async () => {
    const differs = (field: string) =>
      ({ setting: "bios", field, wanted: 1, actual: 2, state: "different" }) as const;
    const seen: Readonly<Record<string, DriftSeen>> = {
      a: { comparedAt: new Date(), differences: [differs("bios.A"), differs("bios.B")] },
      b: { differences: [], error: { class: "unreachable", message: "no route" } },
      c: {
        ...{ comparedAt: new Date(), differences: [differs("bios.A")] },
        enforcement: { state: "stopped", reason: "3 corrections failed in a row" },
      },
    };
    await using lab = await metricsLab({
      machines: () => ["a", "b", "c", "d"],
      machineDrift: (name) => seen[name],
    });

    expect(await lab.value("pbnj_worker_drift", { setting: "bios" })).toBe(2);
    expect(await lab.value("pbnj_worker_drift", { setting: "power" })).toBe(0);
    expect(await lab.value("pbnj_worker_drift_compared")).toBe(2);
    expect(await lab.value("pbnj_worker_drift_failing")).toBe(2);
  });

  test("has the worker's current state and the results of the checks", async () => {
    await using lab = await metricsLab({ checkRuntime: () => Promise.reject(new Error("no engine")) });
    lab.observer.lane("a", "polling");
    lab.observer.poll({ agentId: "a", code: "OK", kind: "idle", durationMs: 1 });

    const values = [...(await lab.read()).values()].flatMap(({ samples }) => samples);
    const plain = Object.fromEntries(
      values.map(({ name, labels: { check = "" }, value }) => [name + check, value]),
    );

    expect(plain).toMatchObject({
      pbnj_slots: 16,
      pbnj_slots_taken: 3,
      pbnj_machines: 2,
      pbnj_journal_unfinished: 2,
      pbnj_tink_server_connected: 1,
      pbnj_check_passinglanes: 1,
      pbnj_check_passingtink_server: 1,
      pbnj_check_passingruntime: 0,
      pbnj_check_passingstate_directory: 1,
      pbnj_build_info: 1,
    });
  });

  test("has the state of the leader election and the cluster", async () => {
    await using without = await metricsLab();
    await using lab = await metricsLab({
      cluster: () => ({
        ...{ problems: ["machines: forbidden"], unusableMachines: 2 },
        sources: [
          { name: "local", machines: 3, problems: [] },
          { name: "edge", machines: 2, problems: ["does not answer"] },
        ],
        leader: { lease: "pbnj-worker-1", isLeading: true, leader: "pod_1", problem: undefined },
      }),
    });

    expect(await lab.value("pbnj_machines_unusable")).toBe(2);
    expect(await without.value("pbnj_machines_unusable")).toBe(0);
    expect(await lab.value("pbnj_leader", { lease: "pbnj-worker-1" })).toBe(1);
    expect(await without.value("pbnj_leader")).toBeUndefined();
    expect(await lab.value("pbnj_machine_source_up", { source: "local" })).toBe(1);
    expect(await lab.value("pbnj_machine_source_up", { source: "edge" })).toBe(0);
    expect(await lab.value("pbnj_machine_source_machines", { source: "edge" })).toBe(2);
    expect(await lab.value("pbnj_check_passing", { check: "cluster" })).toBe(0);
    expect(await lab.value("pbnj_check_passing", { check: "leader_election" })).toBe(1);
  });

  test("has the CPU time and memory of the process", async () => {
    await using lab = await metricsLab();

    const before = await lab.value("process_cpu_seconds_total");
    const after = await lab.value("process_cpu_seconds_total");

    expect(before).toBeGreaterThan(0);
    expect(after).toBeGreaterThanOrEqual(before ?? 0);
    expect(await lab.value("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
    expect(await lab.value("process_open_fds")).toBeGreaterThan(3);
    expect(await lab.value("process_max_fds")).toBeGreaterThan(10);
    expect(
      Math.abs(((await lab.value("process_start_time_seconds")) ?? 0) - Date.now() / 1_000),
    ).toBeLessThan(3_600);
    expect(await lab.value("nodejs_eventloop_lag_max_seconds")).toBeGreaterThanOrEqual(0);
  });
});

/** More than any catalogue, provider, class and code can make, and far less than a thousand machines would. */
const MOST_SERIES = 20_000;

describe("the number of series", () => {
  test("cannot be more than the values of the labels allow", () => {
    const most = Object.values(definitions).map((definition: MetricDefinition) => {
      const series = definition.labels.map((label) => {
        if (label === "action") return catalogue.length + 1;
        return labelValues(label)?.length ?? 1;
      });
      const each = definition.type === "histogram" ? (definition.buckets?.length ?? 0) + 3 : 1;
      return series.reduce((product, values) => product * values, each);
    });

    expect(most.reduce((sum, count) => sum + count, 0)).toBeLessThan(MOST_SERIES);
  });

  test("is closed: every gRPC code that the transport can name has its own value", () => {
    const codes = Object.values(Code).filter((code): code is Code => typeof code === "number");

    expect(labels.code.values.toSorted()).toEqual([...codes.map(codeName), "OK", "other"].toSorted());
  });
});

describe("the format", () => {
  test.each([
    [undefined, "text/plain; version=0.0.4; charset=utf-8"],
    ["*/*", "text/plain; version=0.0.4; charset=utf-8"],
    ["text/html,application/xhtml+xml,*/*;q=0.8", "text/plain; version=0.0.4; charset=utf-8"],
    ["application/openmetrics-text;q=0", "text/plain; version=0.0.4; charset=utf-8"],
    ["text/plain;q=0.9,application/openmetrics-text;q=0.2", "text/plain; version=0.0.4; charset=utf-8"],
    ["application/openmetrics-text", "application/openmetrics-text; version=1.0.0; charset=utf-8"],
    // The header of Prometheus 2.
    [
      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
      "application/openmetrics-text; version=1.0.0; charset=utf-8",
    ],
    ["nonsense;;q=;,", "text/plain; version=0.0.4; charset=utf-8"],
  ])("for Accept: %s is %s", async (accept, contentType) => {
    await using lab = await metricsLab();

    const response = await fetch(lab.url, accept === undefined ? {} : { headers: { accept } });

    expect(response.headers.get("content-type")).toBe(contentType);
    const read = contentType.startsWith("text/plain") ? readPrometheusText : readOpenMetricsText;
    expect(read(await response.text()).size).toBe(Object.keys(definitions).length);
  });

  test("has every metric as it is defined, in both formats, however often and in whatever order they are asked for", async () => {
    await using lab = await metricsLab();
    const accept = "application/openmetrics-text";

    const open = readOpenMetricsText(await (await fetch(lab.url, { headers: { accept } })).text());
    const plain = await lab.read();

    const described = Object.values(definitions).map(({ name, type, help }) => [name, { type, help }]);
    for (const families of [open, plain]) {
      const found = [...families].map(([name, { type, help }]) => [name, { type, help }]);
      expect(found).toEqual(described);
    }
  });

  test("is made once for all who ask at the same time", async () => {
    let asked = 0;
    const { promise, resolve } = Promise.withResolvers<string>();
    await using lab = await metricsLab({
      checkRuntime() {
        asked += 1;
        return promise;
      },
    });

    const all = Array.from({ length: 20 }, () => fetch(lab.url).then((response) => response.text()));
    await expect.poll(() => asked).toBe(1);
    resolve("well");
    const texts = await Promise.all(all);

    expect(texts.every((text) => readPrometheusText(text).size > 30)).toBe(true);
    expect(asked).toBe(1);
  });
});
