import { actionReference } from "../harness/input/reference.ts";
import { raidData, raidVolumes } from "../harness/input/reference-parts.ts";

const os = {
  controller: "RAID.1",
  id: "1",
  name: "os",
  level: "RAID1",
  drives: ["0", "1"],
  bytes: 960_197_124_096,
};

export const reference = actionReference("clear-raid", {
  environment: { VOLUMES: "os" },
  keywords: ["raid", "storage"],
  mostRoundTrips: { redfish: 29 },
  polls: true,
  output: { before: raidVolumes, after: raidVolumes, data: raidData },
  result: {
    message: "deleted: os via redfish",
    before: [os],
    after: [],
    changed: true,
    durationMs: 4_210,
    roundTrips: 30,
    data: { pending: false },
  },
});
