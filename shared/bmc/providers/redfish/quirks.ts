import { type QuirkNote, quirks } from "./service/behaviour-quirks.ts";
import { etagRepairs } from "./service/etag.ts";
import { messageQuirks } from "./service/message-quirks.ts";

/** Differences that need no telling apart, because the way they call for does no harm anywhere. */
const EVERYWHERE: readonly QuirkNote[] = [
  {
    name: "mode-unchanged-omitted",
    vendors: "Dell iDRAC9",
    reason:
      "queues a BIOS job and reboots twice when the mode it already has is sent: only another mode is sent",
    source: "observed on iDRAC9",
  },
  {
    name: "action-without-if-match",
    vendors: "Dell iDRAC10",
    reason: "answers 412 to an action with If-Match: actions carry none, and lose it again after a 412",
    source: "ironcore-dev/metal-operator issue 1015",
  },
  {
    name: "identity-encoding-refused",
    vendors: "HPE",
    reason: "answers 406 to Accept-Encoding identity: the header is left out from then on",
    source: "RFC 9110 section 12.5.3",
  },
  {
    name: "closes-connections",
    vendors: "some",
    reason: "closes the connection after an answer without saying so: each request gets its own from then on",
    source: "RFC 9112 section 9.3",
  },
  {
    name: "sessions-full-basic",
    vendors: "Dell",
    reason: "a login that is refused because the sessions are taken is replaced by basic authentication",
    source: "iDRAC message registry, RAC0218",
  },
  {
    name: "enabled-always-sent",
    vendors: "Supermicro",
    reason: "BootSourceOverrideEnabled is part of each boot write, as a target alone is dropped",
    source: "DMTF/Redfishtool pull request 106",
  },
  {
    name: "reverts-after-200",
    vendors: "Supermicro AS-1015CS",
    reason: "answers 200, then keeps mode Legacy and no override: what is stored is read back and compared",
    source: "bmclib issue 459",
  },
  {
    name: "media-by-patch",
    vendors: "Lenovo",
    reason: "a virtual drive without actions takes PATCH",
    source: "DSP0268, VirtualMedia; XClarity Controller REST API guide",
  },
  {
    name: "graceful-off-ignored",
    vendors: "Fujitsu iRMC",
    reason:
      "a graceful shutdown needs an agent in the operating system: it times out, then power is forced off",
    source: "iRMC Redfish API specification",
  },
  {
    name: "power-state-lingers",
    vendors: "OpenBMC",
    reason: "resets are answered at once while On lingers: the state is polled, off is read twice",
    source: "powerman issue 33, ironcore-dev/metal-operator issue 128",
  },
];

/** Every quirk that this provider knows of, for documentation. */
export const quirkNotes: readonly QuirkNote[] = [
  ...quirks,
  ...messageQuirks,
  ...etagRepairs,
  ...EVERYWHERE,
].map(({ name, vendors, reason, source }) => ({ name, vendors, reason, source }));
