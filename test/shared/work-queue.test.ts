import { describe, expect, it } from "vitest";
import { systemClock } from "../../shared/clock.ts";
import { WorkQueue } from "../../shared/work-queue.ts";

describe("a work queue with tenants", () => {
  it("starts another tenant's key at once, although one tenant has hundreds that never end", async () => {
    const stop = new AbortController();
    const started: string[] = [];
    const reached = Promise.withResolvers<void>();
    const queue = new WorkQueue({
      work: async (key) => {
        started.push(key);
        if (key.startsWith("quiet/")) reached.resolve();
        else await new Promise<void>((resolve) => stop.signal.addEventListener("abort", () => resolve()));
      },
      onFailure: () => undefined,
      clock: systemClock,
      concurrency: 20,
      tenantOf: (key) => key.split("/")[0],
    });
    for (let index = 0; index < 400; index += 1) queue.add(`silent/${index}`);
    const running = queue.run(stop.signal);

    queue.add("quiet/1");
    await reached.promise;
    stop.abort();
    await running;

    expect(started.filter((key) => key.startsWith("silent/"))).toHaveLength(15);
  });
});
