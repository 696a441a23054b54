import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type SharingLab, startLab, WAIT } from "../../worker/cluster/sharing/sharing-lab.ts";

let lab: SharingLab;
beforeEach(async () => {
  lab = await startLab();
});
afterEach(() => lab.close());

describe("a replica that is lost", () => {
  test("is evicted when it is killed, and another owns its lanes", async () => {
    const dying = await lab.startProcess("a");
    await vi.waitFor(() => expect(dying.owned()).toHaveLength(40), WAIT);
    const heir = await lab.start("b");
    await vi.waitFor(() => expect(heir.shares.state().ownedAgentIds).toBeGreaterThan(10), WAIT);

    dying.kill("SIGKILL");
    await dying.ended;

    await lab.shared(heir);
    expect(lab.leases("member").map(({ metadata }) => metadata.name)).toEqual(["lab-member-b"]);
    expect(heir.logged.map(({ message }) => message)).toContain("replica gone, redistributing its lanes");
  });

  test("owns nothing after a pause, until it has rejoined", async () => {
    const sleeper = await lab.startProcess("a");
    await vi.waitFor(() => expect(sleeper.owned()).toHaveLength(40), WAIT);
    const heir = await lab.start("b");
    await vi.waitFor(() => expect(heir.shares.state().ownedAgentIds).toBeGreaterThan(10), WAIT);
    await vi.waitFor(() => expect(sleeper.owned().length).toBeLessThan(40), WAIT);

    sleeper.kill("SIGSTOP");
    await lab.shared(heir);
    const toldBefore = sleeper.told.length;
    sleeper.kill("SIGCONT");

    // Its very first look after the pause, before any answer of the API could have reached it.
    await vi.waitFor(() => expect(sleeper.told.length).toBeGreaterThan(toldBefore + 1), WAIT);
    expect(sleeper.told[toldBefore]?.owned).toEqual([]);
    expect(sleeper.told[toldBefore + 1]?.owned).toEqual([]);
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
