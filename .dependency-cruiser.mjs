/** What may import what (docs/architecture.md); `npm run lint` checks it. */
export default {
  forbidden: [
    { name: "no-cycle", severity: "error", from: {}, to: { circular: true } },
    { name: "no-folder-cycle", severity: "error", scope: "folder", from: {}, to: { circular: true } },
    {
      name: "shared-is-the-bottom",
      severity: "error",
      from: { path: "^shared/" },
      to: { path: "^(worker|actions|cli)/" },
    },
    {
      name: "worker-and-actions-are-apart",
      comment: "They tell each other only what shared/contract/ describes.",
      severity: "error",
      from: { path: "^(worker|actions)/" },
      to: { path: "^(worker|actions|cli)/", pathNot: "^$1/" },
    },
    {
      name: "simulators-are-for-the-lab",
      severity: "error",
      from: { path: "^(worker|shared|actions|cli)/", pathNot: "^cli/lab/" },
      to: { path: "^simulators/" },
    },
  ],
  options: {
    parser: "swc",
    includeOnly: "^(worker|shared|actions|cli|simulators)/",
    exclude: "/gen/",
  },
};
