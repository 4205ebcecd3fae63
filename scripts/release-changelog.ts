import { newestVersion, sectionOf } from '../test/support/changelog.ts';

/** A version cannot be released; the message says why. */
export class ReleaseError extends Error {}

const numbersOf = (version: string): number[] => version.split('.').map(Number);

/** Returns the next versions of a version: the next major, minor and patch release. */
function nextVersions(version: string): { major: string; minor: string; patch: string } {
  const [major = 0, minor = 0, patch = 0] = numbersOf(version);
  return {
    major: `${major + 1}.0.0`,
    minor: `${major}.${minor + 1}.0`,
    patch: `${major}.${minor}.${patch + 1}`,
  };
}

/** Returns the versions that semver allows after `version` for the entries of a changelog. */
function allowedVersions(version: string, entries: string): string[] {
  const { major, minor, patch } = nextVersions(version);
  if (/^- \*\*Breaking/m.test(entries)) return [major];
  return /^### (?:Added|Deprecated)/m.test(entries) ? [minor, major] : [patch, minor, major];
}

/**
 * Returns a changelog in which what is under `Unreleased` is under a version and a date.
 * @throws ReleaseError if nothing is there, or if semver does not allow the version
 */
export function releaseChangelog(changelog: string, version: string, date: Date): string {
  const entries = sectionOf(changelog, 'Unreleased').trim();
  if (entries === '') throw new ReleaseError('CHANGELOG.md has nothing under Unreleased.');
  const allowed = allowedVersions(newestVersion(changelog) ?? '0.0.0', entries);
  if (!allowed.includes(version)) {
    const rule = `CHANGELOG.md asks for ${allowed.join(' or ')}`;
    throw new ReleaseError(`The version cannot be ${version}: ${rule}.`);
  }
  const day = date.toISOString().slice(0, 10);
  return changelog.replace('## Unreleased\n', `## Unreleased\n\n## ${version} - ${day}\n`);
}
