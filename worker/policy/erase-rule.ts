import { connectionGiven } from "../../shared/contract/given.ts";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import type { LabelledMachine } from "../document/labels.ts";
import { isAmongMachines } from "./machine-rule.ts";
import type { JudgedAction, Policy, TenantAction } from "./policy.ts";

/** The action of this project that destroys data on drives. The policy must name its machines. */
const ERASE = "erase-drives";

const erases = (image: string) => parseImageReference(image)?.name === ERASE;

/** Why an action must not erase drives of any machine; undefined if it may, or does something else. */
export function eraseProblem(
  { image, command, environment, secrets }: JudgedAction,
  { eraseDrives }: Policy,
): string | undefined {
  if (!erases(image)) return undefined;
  if (eraseDrives.length === 0)
    return `${ERASE} needs the names or labels of the machines whose drives may be erased`;
  const [own] = secrets?.bmc ? ["directAuthn"] : connectionGiven({ command, environment });
  return own === undefined ? undefined : `${ERASE} needs a machine's name, not ${own}`;
}

/** Why an action must not erase drives of this machine. */
export function eraseMachineProblem(
  { image }: TenantAction,
  machine: LabelledMachine,
  { eraseDrives }: Policy,
): string | undefined {
  if (!erases(image) || isAmongMachines(machine, eraseDrives)) return undefined;
  return `the drives of machine ${machine.name} must not be erased`;
}
