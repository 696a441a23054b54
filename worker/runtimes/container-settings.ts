import { z } from "zod";
import type { ConfigPart } from "../config/part.ts";
import { type SettingsOf, setting } from "../config/setting.ts";
import { ContainerCpus, ContainerMemory } from "../document/value-types.ts";

/** `uid` or `uid:gid`. Names would be resolved in the image, where any name may be root. */
const ActionUser = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(
    z.string().regex(/^[1-9]\d{0,9}(:[1-9]\d{0,9})?$/, {
      error: "must be a user ID, or user and group ID as in 65532:65532, neither of them 0",
    }),
  );

const settings = {
  pullPolicy: setting(z.enum(["always", "if-missing", "never"]).prefault("if-missing"), {
    description: "When to pull images",
    chart: { value: "runtime.pods.pullPolicy" },
    policyTest: true,
  }),
  actionUser: setting(ActionUser.prefault("65532:65532"), {
    description: "User and group ID for containers whose image sets no user, or root",
    type: "uid:gid",
    chart: { value: "runtime.pods.user" },
  }),
  memoryLimit: setting(ContainerMemory.prefault("256Mi"), {
    description: "Memory limit per container",
    type: "size",
    chart: { value: "runtime.pods.memoryLimit" },
    policyTest: true,
  }),
  cpuLimit: setting(ContainerCpus.prefault("1"), {
    description: "CPU limit per container; fractions are allowed",
    type: "number",
    chart: { value: "runtime.pods.cpuLimit" },
    policyTest: true,
  }),
};

export type ContainerSettings = SettingsOf<typeof settings>;

/** The configuration that all runtimes with containers share. */
export function containerConfig({ pullPolicy, actionUser, memoryLimit, cpuLimit }: ContainerSettings) {
  return { pullPolicy, user: actionUser, memoryBytes: memoryLimit, cpus: cpuLimit };
}

export const containerSettings = { group: "Containers", settings } satisfies ConfigPart<ContainerSettings>;
