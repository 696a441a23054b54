import { expect, it } from "vitest";
import { actionChanges } from "../../scripts/catalogue/action-changes.ts";
import { parseChangelog } from "../../scripts/changelog.ts";

const releases = parseChangelog(`# Changelog

## [1.1.0] - 2026-02-01
### Changed
- \`power-off\` and \`power-on\` wait longer.
- The worker starts sooner.
### Security
- TLS 1.1 is refused.
- \`power-cycle\` keeps passwords out of its log.

## [1.0.0] - 2026-01-01
### Added
- Everything.
`);

it.each([
  ["power-off", "1.1.0", ["power-off and power-on wait longer.", "TLS 1.1 is refused."]],
  ["power-cycle", "1.1.0", ["TLS 1.1 is refused.", "power-cycle keeps passwords out of its log."]],
  ["check", "1.1.0", ["TLS 1.1 is refused."]],
  ["check", "1.0.0", ["First version"]],
])("%s changed in %s: %j", (action, version, expected) => {
  expect(actionChanges(action, version, releases).map(({ description }) => description)).toEqual(expected);
});
