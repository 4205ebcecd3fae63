import manifest from '../../../package.json' with { type: 'json' };

/** The program's name and version. The build includes them in the bundle. */
export const { name: NAME, version: VERSION } = manifest;
