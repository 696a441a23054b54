import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type SharingLab, startLab, WAIT } from "../../worker/cluster/sharing/sharing-lab.ts";

let lab: SharingLab;
beforeEach(async () => {
  lab = await startLab();
});
afterEach(() => lab[Symbol.asyncDispose]());

describe("a replica that is lost", () => {
  test("is deposed when it is killed, and another owns what it had", async () => {
    const dying = await lab.startProcess("a");
    await vi.waitFor(() => expect(dying.owned()).toHaveLength(40), WAIT);
    const heir = await lab.start("b");
    await lab.takesPart(heir);

    dying.kill("SIGKILL");
    await dying.ended;

    await lab.shared(heir);
    expect(lab.leases("member").map(({ metadata }) => metadata.name)).toEqual(["lab-member-b"]);
    expect(heir.logged.map(({ message }) => message)).toContain("replica gone, redistributing its lanes");
  });

  test("owns nothing when it wakes up from a pause, until it has joined anew", async () => {
    const sleeper = await lab.startProcess("a");
    await vi.waitFor(() => expect(sleeper.owned()).toHaveLength(40), WAIT);
    const heir = await lab.start("b");
    await lab.takesPart(heir);
    await vi.waitFor(() => expect(sleeper.owned().length).toBeLessThan(40), WAIT);

    sleeper.kill("SIGSTOP");
    await lab.shared(heir);
    const wokenMs = Date.now();
    sleeper.kill("SIGCONT");

    // It may have been stopped in the middle of a look. The first ones after the pause come before any answer of the API.
    const looks = () => sleeper.lines.filter(({ atMs }) => atMs >= wokenMs).slice(0, 2);
    await vi.waitFor(() => expect(looks()).toHaveLength(2), WAIT);
    expect(looks().flatMap(({ owned }) => owned)).toEqual([]);
    await vi.waitFor(() => {
      const [own, others] = [sleeper.owned(), lab.agentIds().filter((id) => heir.shares.owns(id))];
      expect([...own, ...others].toSorted()).toEqual(lab.agentIds().toSorted());
      expect(own.length).toBeGreaterThan(10);
    }, WAIT);
    sleeper.kill("SIGTERM");
    await sleeper.ended;
    expect(sleeper.owned()).toEqual([]);
    await lab.shared(heir);
  });
});
