import { count } from "../../shared/count.ts";
import type { Problem } from "../../shared/document/problem.ts";
import type { CauseName } from "../findings/causes.ts";
import { type Finding, findingOf, joinNames, okFinding, skippedFinding } from "../findings/finding.ts";
import { pauseNote } from "../machines/pause.ts";
import { ownConnectionsAllowed } from "../policy/environment-rule.ts";
import type { Policy } from "../policy/policy.ts";
import { unenforced } from "../policy/unenforced.ts";
import type { Examined } from "./examine.ts";

export function checkSettings({ given, found }: Examined): readonly Finding[] {
  const { problems, warnings } = found.settings;
  const wrong = [...findings(problems, "setting-wrong"), ...findings(warnings, "setting-doubtful")];
  if (problems.length > 0) return wrong;
  const path = given.get("config")?.value;
  const file = typeof path === "string" ? `, with the file ${path}` : "";
  return [...wrong, okFinding("settings", `${count(given.size, "setting")} given${file}`)];
}

/** Checks the inventory file, but not the secrets that it names. */
export function checkInventory({
  found,
  inventory,
  inventoryWarnings,
  settings,
}: Examined): readonly Finding[] {
  const { problems } = found.inventory;
  const wrong = [
    ...findings(problems, "inventory-wrong"),
    ...findings(inventoryWarnings, "inventory-doubtful"),
  ];
  if (problems.length > 0 || !inventory) return wrong;
  const detail =
    settings.inventory === undefined
      ? "none is given: no machine is known"
      : `${settings.inventory}: ${count(inventory.machines().length, "machine")}`;
  const paused = inventory
    .machines()
    .flatMap((machine) =>
      machine.paused ? [skippedFinding("inventory", pauseNote(machine.paused), machine.name)] : [],
    );
  return [...wrong, okFinding("inventory", detail), ...paused];
}

export function checkPolicy({ found, policy, settings }: Examined): readonly Finding[] {
  const { problems, warnings } = found.policy;
  const wrong = [
    ...findings(problems, "policy-wrong"),
    ...findings(found.trust.problems, "trust-missing"),
    ...findings(warnings, "policy-doubtful"),
  ];
  if (!policy) return wrong;
  const idle = findings(unenforced(policy, settings.runtime), "policy-doubtful");
  const direct = directAccess(policy, settings);
  if (settings.policy !== undefined) {
    return [
      ...wrong,
      ...idle,
      okFinding("policy", `${settings.policy}: ${trusted(policy, settings)}${direct}`),
    ];
  }
  const runs = settings.unsafeAnyImage ? "every image runs" : "only this installation's actions run";
  return [okFinding("policy", `none is given: ${runs}, without volumes and namespaces of the host${direct}`)];
}

function trusted({ trustedImages = [] }: Policy, { runtime, unsafeAnyImage }: Examined["settings"]): string {
  if (runtime === "process" || runtime === "in-process") {
    return "only this installation's actions run, and receive BMC connections";
  }
  if (unsafeAnyImage) return "every image receives BMC connections, by --unsafe-any-image";
  const images = trustedImages.length === 0 ? "no images" : joinNames(trustedImages);
  return `${images} receive BMC connections`;
}

/** Reports what the policy says about requests of PBnJ's API that contain a BMC's credentials. */
function directAccess(policy: Policy, { pbnjAddress, runtime }: Examined["settings"]): string {
  if (pbnjAddress === undefined) return "";
  const isAllowed = ownConnectionsAllowed(policy) && runtime !== "kubernetes";
  return `; requests of PBnJ's API ${isAllowed ? "may bring a BMC's credentials" : "must name a machine"}`;
}

function findings(problems: readonly Problem[], cause: CauseName): readonly Finding[] {
  return problems.map(({ source, message }) => findingOf(cause, message, { subject: source }));
}
