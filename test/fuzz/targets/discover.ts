import { readLeases } from "../../../cli/discover/leases.ts";
import { readReply } from "../../../cli/discover/ssdp.ts";
import { MOST_ADDRESSES, parseTargets } from "../../../cli/discover/targets.ts";
import { bytesOf, type Target } from "../target.ts";

const SERVICE = "urn:dmtf-org:service:redfish-rest:1";
const REPLY = `HTTP/1.1 200 OK\r\nST:${SERVICE}\r\nUSN:uuid:1::${SERVICE}:1:15\r\nAL:<https://192.0.2.9/redfish/v1/>\r\n\r\n`;

/** What `pbnj-worker discover` reads of operators, DHCP servers and the network. */
export const discoverTargets: readonly Target[] = [
  {
    name: "discover-addresses",
    seeds: ["192.0.2.0/28", "10.0.0.5-10.0.0.40", "2001:db8::/120", "[::1]", "fe80::1%eth0", "bmc.example"],
    tokens: ["0", ".", ":", "::", "-", "/", "%", "[", "255", "ffff", "a."],
    longest: 8_192,
    call: (input) => parseTargets(input.split(/\s+/)),
    holds: (result) => {
      const { hosts, problems } = result as ReturnType<typeof parseTargets>;
      if (hosts.length > MOST_ADDRESSES || (hosts.length > 0 && problems.length > 0))
        throw new Error("unbounded");
    },
  },
  {
    name: "discover-leases",
    seeds: [
      "0 52:54:00:12:34:56 192.0.2.10 a *\nduid 00:01\n",
      "address,hwaddr,valid_lifetime,state\n192.0.2.10,52:54:00:12:34:56,60,0\n",
      "lease 192.0.2.10 {\n  binding state active;\n}\n",
    ],
    tokens: [
      "lease ",
      "{",
      "}",
      "\n",
      "\r\n",
      "  binding state ",
      "active;",
      ",",
      "0 a 192.0.2.1 b c\n",
      "address,",
    ],
    call: readLeases,
  },
  {
    name: "discover-ssdp",
    seeds: [REPLY],
    tokens: ["\r\n", ":", "ST:", "AL:", "<", ">", "https://", "HTTP/1.1 200"],
    call: (input) => readReply(bytesOf(input), "192.0.2.9"),
  },
];
