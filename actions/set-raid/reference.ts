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

export const reference = actionReference("set-raid", {
  environment: { RAID_VOLUMES: "os RAID1 drives=2 media=SSD" },
  keywords: ["raid", "storage"],
  mostRoundTrips: { redfish: 28 },
  polls: true,
  output: { before: raidVolumes, after: raidVolumes, data: raidData },
  result: {
    message: "created: os (RAID1) via redfish",
    before: [],
    after: [os],
    changed: true,
    durationMs: 4_210,
    roundTrips: 27,
    data: { pending: false },
  },
});
