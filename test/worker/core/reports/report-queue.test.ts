import { describe, expect, it } from "vitest";
import type { Clock } from "../../../../shared/clock.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { Notifier } from "../../../../shared/notifier.ts";
import {
  type Delivery,
  type EndStatus,
  type RunningStatus,
  WorkflowDeleted,
} from "../../../../worker/core/action/action.ts";
import { noObserver } from "../../../../worker/core/action/observer.ts";
import type { Acknowledgement, StatusSink } from "../../../../worker/core/ports/source.ts";
import { ReportQueue } from "../../../../worker/core/reports/report-queue.ts";
import { type FinalTerms, sendReport, within } from "../../../../worker/core/reports/send-report.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

const NEVER = new AbortController().signal;
/** What comes after a report takes so long. */
const FINISH_MS = 100;
const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

const DONE: Acknowledgement = { kind: "acknowledged" };
const REJECTED: Acknowledgement = { kind: "rejected", code: "NotFound", reason: "no such action" };
const RETRY: Acknowledgement = { kind: "retry", code: "Internal", reason: "conflict" };
const GONE: Acknowledgement = { ...REJECTED, kind: "gone" };
const PERHAPS_STALE: Acknowledgement = { ...GONE, perhapsStale: true };
const PERHAPS_REJECTED: Acknowledgement = { ...RETRY, perhapsRejected: true };

function statusOf(workflowId: string, name = "power-on", endedAgoMs = 0): EndStatus {
  const action = {
    ...{ workflowId, taskId: "task", agentId: "agent", actionId: name, name },
    image: `ghcr.io/pbnj-worker/${name}:v1`,
  };
  const stoppedAt = new Date(new VirtualClock().now() - endedAgoMs);
  return { action, state: "success", message: "", startedAt: stoppedAt, stoppedAt };
}

function startOf(workflow: string): RunningStatus {
  const { stoppedAt: _stoppedAt, ...status } = statusOf(workflow);
  return { ...status, state: "running" };
}

/** Gives the answers in turn, the last one for ever. A held report is only ended by its signal. */
function sinkLab(
  answers: readonly (Acknowledgement | "held" | Error)[],
  maxBackoffMs = 1_000,
  laneClock?: Clock,
) {
  const clock = new VirtualClock();
  const asked: number[] = [];
  const sink: StatusSink = {
    async report(_, signal) {
      asked.push(clock.monotonicMs());
      const answer = answers[asked.length - 1] ?? answers.at(-1) ?? "held";
      if (answer instanceof Error) throw answer;
      return answer === "held" ? clock.sleep(1_000 * DAY, signal).then(() => DONE) : answer;
    },
  };
  const options = { sink, clock: laneClock ?? clock, log: silentLogger, maxBackoffMs, observer: noObserver };
  const reports = new ReportQueue(options);
  const rejections: string[] = [];
  const onRejected = async (code: string) => void rejections.push(code);
  const terms = { forMs: Number.POSITIVE_INFINITY, onRejected, served: new Notifier() };
  return {
    ...{ clock, asked, reports, rejections, sink, terms },
    final: (status: EndStatus, given: FinalTerms, signal: AbortSignal) =>
      sendReport(options, status, signal, given),
    finalWithin: (ms: number, status: EndStatus) =>
      within(ms, options, NEVER, (bound) => sendReport(options, status, bound, terms)),
    /** The result, and when it came. */
    async ended<T>(work: Promise<T>): Promise<{ readonly result: T; readonly atMs: number }> {
      let atMs: number | undefined;
      const end = () => {
        atMs = clock.monotonicMs();
      };
      void work.then(end, end);
      await clock.until(() => atMs !== undefined, 100 * DAY);
      return { result: await work, atMs: atMs ?? 0 };
    },
    /** Delivers a report, and records how it finishes. */
    deliver(status: EndStatus, cancel = NEVER) {
      const finished: Delivery[] = [];
      const onFinished = async (delivery: Delivery) => {
        await clock.sleep(FINISH_MS);
        finished.push(delivery);
      };
      const report = reports.deliver({ status, sink, cancel, onRejected, onFinished });
      return { finished, report, free: reports.laneFree(report) };
    },
  };
}

const times = (count: number, answer: Acknowledgement) => Array.from({ length: count }, () => answer);

describe("a start", () => {
  it.each<[string, readonly Acknowledgement[], Delivery, number]>([
    ["is acknowledged after failures", [RETRY, RETRY, DONE], "acknowledged", 3],
    ["ends with the first rejection", [REJECTED, DONE], "rejected", 1],
    ["ends with the eighth answer that may be one", [PERHAPS_REJECTED], "rejected", 8],
    ["is dropped when its workflow is gone", [GONE], "dropped", 1],
  ])("%s", async (_, answers, delivery, attempts) => {
    const { reports, ended, asked, sink } = sinkLab(answers);

    const { result } = await ended(reports.running(startOf("w"), sink, NEVER));

    expect(result).toBe(delivery);
    expect(asked).toHaveLength(attempts);
  });

  it.each(["held", RETRY] as const)("is unanswered after 20 s: %o", async (answer) => {
    const { reports, ended, sink } = sinkLab([answer]);

    expect(await ended(reports.running(startOf("w"), sink, NEVER))).toEqual({
      ...{ result: "unanswered", atMs: 20_000 },
    });
  });
});

describe("a report", () => {
  it.each<[string, readonly Acknowledgement[], Delivery, number, number]>([
    ["is acknowledged after any number of failures", [...times(50, RETRY), DONE], "acknowledged", 51, 0],
    ["is dropped at once if the workflow is certainly gone", [RETRY, GONE], "dropped", 2, 0],
    ["is repeated after any number of rejections", [...times(50, REJECTED), DONE], "acknowledged", 51, 1],
    [
      "is rejected by eight answers in a row that may be rejections",
      [...times(8, PERHAPS_REJECTED), DONE],
      ...(["acknowledged", 9, 1] as const),
    ],
    [
      "is not rejected by any number of answers, not in a row, that may be rejections",
      [...times(7, PERHAPS_REJECTED), RETRY, ...times(7, PERHAPS_REJECTED), DONE],
      ...(["acknowledged", 16, 0] as const),
    ],
  ])("%s", async (_, answers, delivery, attempts, rejections) => {
    const lab = sinkLab(answers);

    const { result } = await lab.ended(lab.final(statusOf("w"), lab.terms, NEVER));

    expect(result).toBe(delivery);
    expect(lab.asked).toHaveLength(attempts);
    expect(lab.rejections).toEqual(times(rejections, REJECTED).map(() => lab.rejections[0]));
  });

  it("waits for half a minute and longer after a rejection, and as usual after another answer", async () => {
    const lab = sinkLab([REJECTED, REJECTED, RETRY, REJECTED, DONE]);

    await lab.ended(lab.final(statusOf("w"), lab.terms, NEVER));

    const waits = lab.asked
      .slice(1)
      .map((atMs, index) => Math.round((atMs - (lab.asked[index] ?? 0)) / 1_000));
    const [first = 0, second = 0, third = 0, fourth = 0] = waits;
    expect([first >= 21 && first <= 30, second >= 42 && second <= 60, third]).toEqual([true, true, 0]);
    expect(fourth).toBeLessThanOrEqual(30);
  });

  it("is repeated at once after a rejection when its action is served again", async () => {
    const lab = sinkLab([REJECTED, DONE]);
    const ended = lab.ended(lab.final(statusOf("w"), lab.terms, NEVER));
    void lab.clock.sleep(2_000).then(lab.terms.served.notify);

    expect(await ended).toEqual({ result: "acknowledged", atMs: 2_000 });
  });

  it("is dropped when the workflow is missing for 3 s without an interruption", async () => {
    const lab = sinkLab([PERHAPS_STALE, PERHAPS_STALE, RETRY, PERHAPS_STALE]);

    const { result } = await lab.ended(lab.final(statusOf("w"), lab.terms, NEVER));

    const since = lab.asked.map((atMs) => atMs - (lab.asked[3] ?? 0));
    expect(result).toBe("dropped");
    expect(since.at(-1)).toBeGreaterThanOrEqual(3_000);
    expect(since.at(-2)).toBeLessThan(3_000);
  });

  it("is abandoned after its time, but not before an attempt", async () => {
    const lab = sinkLab([RETRY]);
    const { result } = await lab.ended(lab.final(statusOf("w"), { ...lab.terms, forMs: 10_000 }, NEVER));
    const attempts = [...lab.asked];
    const late = await lab.ended(lab.final(statusOf("w"), { ...lab.terms, forMs: 0 }, NEVER));

    expect([result, late.result]).toEqual(["dropped", "dropped"]);
    expect(attempts.at(-1)).toBeGreaterThan(10_000);
    expect(attempts.at(-2)).toBeLessThanOrEqual(10_000);
    expect(lab.asked.length).toBeGreaterThan(attempts.length);
  });

  it.each([
    ["before it is sent", () => AbortSignal.abort(), 0],
    ["while the server holds it", () => AbortSignal.timeout(20), 1],
  ] as const)("is unanswered if it is cancelled %s", async (_, signal, attempts) => {
    const { final, asked, terms } = sinkLab(["held"]);

    expect(await final(statusOf("w"), terms, signal())).toBe("unanswered");
    expect(asked).toHaveLength(attempts);
  });

  it("fails with an error of the sink that no cancellation explains", async () => {
    const lab = sinkLab([new Error("defect")]);

    await expect(lab.final(statusOf("w"), lab.terms, NEVER)).rejects.toThrow("defect");
    await expect(lab.finalWithin(HOUR, statusOf("w"))).rejects.toThrow("defect");
  });

  it.each(["held", RETRY] as const)("within a time is unanswered when that is over: %o", async (answer) => {
    const { finalWithin, ended } = sinkLab([answer]);

    expect(await ended(finalWithin(20_000, statusOf("w")))).toEqual({
      ...{ result: "unanswered", atMs: 20_000 },
    });
  });

  it("within a time leaves nothing waiting once it is answered", async () => {
    const { finalWithin, ended, clock } = sinkLab([DONE]);

    expect((await ended(finalWithin(20_000, statusOf("w")))).result).toBe("acknowledged");
    await expect(clock.until(() => clock.monotonicMs() > 0, HOUR)).rejects.toThrow();
  });
});

describe("a final report", () => {
  it("keeps its lane until it is finished, or for 5 s", async () => {
    const quick = sinkLab([RETRY, DONE]);
    const slow = sinkLab([...times(20, RETRY), DONE]);
    const first = quick.deliver(statusOf("w"));
    const second = slow.deliver(statusOf("w"));

    expect((await quick.ended(first.free)).atMs).toBeLessThanOrEqual(500 + FINISH_MS);
    expect(first.finished).toEqual(["acknowledged"]);
    expect((await slow.ended(second.free)).atMs).toBe(5_000);
    expect(second.finished).toEqual([]);
    await slow.ended(slow.reports.idle());
    expect(second.finished).toEqual(["acknowledged"]);
  });

  it("keeps its lane until it is rejected, and is repeated in the background", async () => {
    const lab = sinkLab([REJECTED, DONE]);
    const { finished, free } = lab.deliver(statusOf("w"));

    expect((await lab.ended(free)).atMs).toBe(0);
    expect([finished, lab.rejections]).toEqual([[], ["NotFound"]]);
    await lab.clock.until(() => finished.length > 0, HOUR);
    expect(finished).toEqual(["acknowledged"]);
  });

  it("that is rejected is left to the next worker when this one stops", async () => {
    const lab = sinkLab([REJECTED]);
    const { finished, free } = lab.deliver(statusOf("w"));
    await lab.ended(free);

    const { atMs } = await lab.ended(lab.reports.idle());

    expect([finished, atMs]).toEqual([["unanswered"], FINISH_MS]);
  });

  it("that is not acknowledged soon is left to the worker that leads next, without an hour's wait", async () => {
    const lab = sinkLab(["held"]);
    const { finished, free } = lab.deliver(statusOf("w"));
    lab.reports.handOver();
    const late = lab.deliver(statusOf("w", "power-off"));

    const { atMs } = await lab.ended(Promise.all([free, late.free, lab.reports.idle()]));

    expect([finished, late.finished]).toEqual([["unanswered"], ["unanswered"]]);
    expect(atMs).toBeLessThan(2_000);
  });

  it("keeps its lane longer while 5,000 others are pending", async () => {
    // The virtual clock would fire 5,000 timers one by one.
    const clock = scaledClock(50);
    const { deliver } = sinkLab(["held"], 1_000, clock);
    const others = Array.from({ length: 5_000 }, (_, index) => deliver(statusOf(`w-${index}`)));
    let isFree = false;
    void deliver(statusOf("last")).free.then(() => {
      isFree = true;
    });

    await Promise.all(others.map(({ free }) => free));
    await clock.sleep(5_000);

    expect(isFree).toBe(false);
  });

  it.each([
    ["7 days after the end of its action", 2 * DAY, 5 * DAY],
    ["not before an hour, because the clock may have been set", 9 * DAY, HOUR],
  ])("is abandoned %s", async (_, endedAgoMs, forMs) => {
    const lab = sinkLab([RETRY], HOUR);
    const { finished } = lab.deliver(statusOf("w", "power-on", endedAgoMs));

    const { atMs } = await lab.ended(lab.reports.idle());

    expect(finished).toEqual(["dropped"]);
    expect(atMs).toBeGreaterThan(forMs);
    expect(atMs).toBeLessThanOrEqual(forMs + HOUR + FINISH_MS);
  });

  it("is left to the next worker after an error", async () => {
    const lab = sinkLab([new Error("defect")]);
    const status = statusOf("w");
    const { finished, free } = lab.deliver(status);

    await lab.ended(free);
    await lab.reports.idle();

    expect(finished).toEqual(["unanswered"]);
  });

  it.each<[string, AbortSignal, Delivery, number, number]>([
    ["is dropped when its workflow is deleted", AbortSignal.abort(new WorkflowDeleted("w")), "dropped", 0, 0],
    ["gets 10 s when the worker stops", AbortSignal.abort(), "unanswered", 1, 10_000],
  ])("%s", async (_, cancel, delivery, attempts, takesMs) => {
    const lab = sinkLab(["held"]);
    const { finished } = lab.deliver(statusOf("w"), cancel);

    const { atMs } = await lab.ended(lab.reports.idle());

    expect({ finished, atMs, asked: lab.asked.length }).toEqual({
      ...{ finished: [delivery], atMs: takesMs + FINISH_MS, asked: attempts },
    });
  });
});

describe("while a report is pending", () => {
  it("and was rejected, it is repeated when its action is served again", async () => {
    const lab = sinkLab([REJECTED, DONE]);
    const { finished, free, report } = lab.deliver(statusOf("w"));
    await lab.ended(free);

    const again = await lab.ended(report.servedAgain());

    expect(again.atMs).toBe(FINISH_MS);
    expect(finished).toEqual(["acknowledged"]);
  });

  it("its action waits for it for 5 s at most when it is served again", async () => {
    const lab = sinkLab(["held"]);
    const { finished, report } = lab.deliver(statusOf("w"));

    const again = await lab.ended(report.servedAgain());

    expect(again.atMs).toBe(5_000);
    expect(finished).toEqual([]);
  });

  it("a new action of the workflow supersedes it, and begins when it is finished", async () => {
    const lab = sinkLab(["held"]);
    const { finished } = lab.deliver(statusOf("w"));
    const other = lab.deliver(statusOf("another workflow"));

    const next = await lab.ended(lab.reports.supersede("w"));

    expect(next.atMs).toBe(FINISH_MS);
    expect([finished, other.finished]).toEqual([["acknowledged"], []]);
  });
});

it("a report that probes an unavailable server many times does not wait longer than the others after it", async () => {
  const outage: Acknowledgement = { kind: "retry", code: "Unavailable", reason: "refused", outage: true };
  const { ended, final, terms } = sinkLab([...times(10, outage), DONE], 30_000);

  const { result, atMs } = await ended(final(statusOf("default/w"), terms, NEVER));

  expect(result).toBe("acknowledged");
  expect(atMs).toBeLessThan(6_000);
});
