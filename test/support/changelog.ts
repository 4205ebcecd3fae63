/** The entries of a changelog, or of a part of it, each in one line. */
export const entriesOf = (text: string): string[] =>
  text
    .split(/^(?=- |#)/m)
    .filter((entry) => entry.startsWith('- '))
    .map((entry) => entry.trimEnd().replaceAll(/\s*\n\s*/g, ' '));

export const unreleasedOf = (changelog: string): string =>
  /^## Unreleased\n([^]*?)(?=^## )/m.exec(changelog)?.[1]?.trim() ?? '';

const PERMIT = /^- \*\*(?:Breaking|Compatible)\*\* (`[^`]+`(?:, `[^`]+`)*): \S/;

/** The names of the changes that the entries under `Unreleased` allow, each once. */
export const allowedIn = (changelog: string): string[] => {
  const allowed = entriesOf(unreleasedOf(changelog)).flatMap((entry) => {
    const [, names = ''] = PERMIT.exec(entry) ?? [];
    return Array.from(names.matchAll(/`([^`]+)`/g), ([, name = '']) => name);
  });
  return [...new Set(allowed)];
};
