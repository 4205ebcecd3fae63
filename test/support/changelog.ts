import type { BreakingChange } from './breaking-changes.ts';

/** An entry of the changelog that allows breaking changes. */
interface Permit {
  readonly names: readonly string[];
  /** True if the entry says that the change was not announced. */
  readonly withoutNotice: boolean;
}

const PERMIT = /^\*\*Breaking(?<sudden>, without notice)?\*\* (?<names>`[^`]+`(?:, `[^`]+`)*): \S/;

/** The entries of a changelog, or of a part of it. */
export const entriesOf = (text: string): string[] =>
  text
    .split(/^- |^#.*$/m)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** The part of a changelog under a heading such as `Unreleased`. */
export function sectionOf(changelog: string, title: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  return sections.find((section) => section.startsWith(title))?.replace(/^.*\n/, '') ?? '';
}

/** The version of the newest release in a changelog. */
export const newestVersion = (changelog: string): string | undefined =>
  /^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$/m.exec(changelog)?.[1];

function toPermit(entry: string): Permit {
  const { names = '', sudden } = PERMIT.exec(entry)?.groups ?? {};
  return {
    names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    withoutNotice: sudden !== undefined,
  };
}

/** Why a change is not allowed; nothing where it is. */
function complain({ name, message, announced }: BreakingChange, permits: Permit[]): string[] {
  const label = announced ? 'Breaking' : 'Breaking, without notice';
  const allowed = permits.some(
    ({ names, withoutNotice }) => names.includes(name) && (announced || withoutNotice),
  );
  return allowed
    ? []
    : [`${message} CHANGELOG.md does not allow it with "- **${label}** \`${name}\`: why".`];
}

/** What is wrong between breaking changes and the entries under `Unreleased` that allow them. */
export function complaintsAbout(changes: readonly BreakingChange[], changelog: string): string[] {
  const entries = entriesOf(sectionOf(changelog, 'Unreleased'));
  const written = entries.filter((entry) => /^\W*breaking/i.test(entry));
  const permits = written.map(toPermit);
  const names = new Set(changes.map(({ name }) => name));
  const stale = permits.flatMap((permit) => permit.names.filter((name) => !names.has(name)));
  return [
    ...changes.flatMap((change) => complain(change, permits)),
    ...stale.map((name) => `CHANGELOG.md allows a change of ${name} that there is not.`),
    ...written
      .filter((entry) => !PERMIT.test(entry))
      .map((entry) => `CHANGELOG.md has an entry that allows nothing: ${entry}`),
  ];
}
