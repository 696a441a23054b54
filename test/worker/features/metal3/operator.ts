import type { FakeCluster, KubeObject } from "../../../../simulators/kubernetes/cluster.ts";
import { METAL3 } from "../cluster-machines/host-lab.ts";

/** A BareMetalHost, as far as its power goes. */
export interface Host extends KubeObject {
  readonly spec: { readonly online: boolean };
  readonly status: { readonly poweredOn: boolean; readonly provisioning: { readonly state: string } };
}

const TICK_MS = 15;

/** What Metal3's operator does to the host's power now (`manageHostPower`). */
export function nextPower({ metadata, spec, status }: Host) {
  const isProvisioned = ["provisioned", "externally provisioned"].includes(status.provisioning.state);
  const reboots = Object.entries(metadata.annotations ?? {}).filter(([name]) =>
    name.startsWith("reboot.metal3.io"),
  );
  const desired = isProvisioned && reboots.length > 0 ? false : spec.online;
  if (status.poweredOn === desired) return undefined;
  return { poweredOn: desired, forced: reboots.some(([, value]) => value.includes('"mode":"hard"')) };
}

/** Metal3's operator, with one step of a host per tick. */
export class Operator {
  /** What it did to the power of all hosts. */
  readonly changes: ("on" | "off")[] = [];
  /** Whether it was asked to use force for the last `off`. */
  forced = false;
  /** It does nothing while this is set. */
  isAway = false;
  readonly #fake: FakeCluster;
  readonly #timer: NodeJS.Timeout;

  constructor(fake: FakeCluster) {
    this.#fake = fake;
    this.#timer = setInterval(() => this.#reconcile(), TICK_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #reconcile(): void {
    if (this.isAway) return;
    for (const object of this.#fake.list(METAL3, "BareMetalHost")) {
      const next = nextPower(object as Host);
      if (!next) continue;
      const { poweredOn, forced } = next;
      if (!poweredOn) this.forced = forced;
      this.changes.push(poweredOn ? "on" : "off");
      const { name = "", namespace } = object.metadata;
      this.#fake.patchStatus(METAL3, "BareMetalHost", name, { poweredOn }, namespace);
    }
  }
}
