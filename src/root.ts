/** The folder of the project: one up, from `src/` as from `dist/`, where all modules are one file. */
export const ROOT = new URL('..', import.meta.url);
