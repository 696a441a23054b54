import { parseVolumes } from "../../../actions/set-raid/parse-volumes.ts";
import type { Target } from "../target.ts";

export const raidTargets: readonly Target[] = [
  {
    name: "raid-volumes",
    seeds: ["os RAID1 drives=2 size=200GB media=SSD; data raid5 drives=a,b,c min=1.5TiB"],
    tokens: [";", "\n", " drives=", " size=", " media=", " min=", "RAID10", "GiB", ","],
    call: parseVolumes,
    holds: (result) => {
      const { volumes, problems } = result as ReturnType<typeof parseVolumes>;
      if (volumes.length === 0 && problems.length === 0) throw new Error("neither volumes nor problems");
    },
  },
];
