/** The programs of others, in the order of docs/reference/compatibility.md, and what each is. */
export const PEERS = {
  "sushy-tools (fake)": "Redfish server with a fake machine",
  "sushy-tools (libvirt)": "Redfish server of a libvirt machine",
  "DMTF mockup server": "Redfish server of a recorded tree",
  ipmi_sim: "OpenIPMI's IPMI server",
  "pyghmi fakebmc": "pyghmi's IPMI server",
  virtualbmc: "IPMI server of a libvirt machine",
  Ironic: "server of the `ironic` provider, client of the Redfish simulator",
  QEMU: "machine behind ipmi_sim, sushy-tools and virtualbmc",
  libvirt: "machine behind sushy-tools and virtualbmc",
  sushy: "client of the Redfish simulator",
  bmclib: "client of the Redfish, IPMI and AMT simulators",
  "go-ipmi": "client of the IPMI simulator",
  ipmitool: "client of the IPMI simulator",
  freeipmi: "client of the IPMI simulator",
  grpcurl: "client of PBnJ's API",
  "PBnJ's client": "client of PBnJ's API",
  "PBnJ's server": "answers compared with the worker's",
  Helm: "renders the chart",
  kubeconform: "validates the chart's objects",
  promtool: "checks alerts, dashboard and metrics",
  "Artifact Hub's linter": "checks the chart and the packages of the actions",
  zsh: "shell with the completion script",
  fish: "shell with the completion script",
  Chromium: "browser of the status page",
} as const satisfies Readonly<Record<string, string>>;

export type PeerName = keyof typeof PEERS;
