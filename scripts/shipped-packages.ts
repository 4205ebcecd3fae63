import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { z } from 'zod';

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      license: z.string().optional(),
      dev: z.boolean().optional(),
      devOptional: z.boolean().optional(),
    }),
  ),
});

/** A package of which a release contains or installs something. */
export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  /** Where npm installs it. */
  readonly path: string;
}

// esbuild writes the path of each module above its code; node_modules may be a link to elsewhere.
const MODULE = /^\s*\/\/ (?:\S*?\/)?(node_modules\/[^\s"']+)/gm;
const PACKAGE_PATH = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
// build.js, or the gateway, takes files of these as they are.
const COPIED = ['node_modules/swagger-ui-dist', 'node_modules/@graphql-yoga/render-graphiql'];

/**
 * Returns the paths of the packages that are in the bundle.
 * @throws Error if the bundle does not name its modules
 */
function findBundled(folder: string): Set<string> {
  const dist = join(folder, 'dist');
  const programs = readdirSync(dist).filter((file) => file.endsWith('.js'));
  const paths = programs.flatMap((file) =>
    [...readFileSync(join(dist, file), 'utf8').matchAll(MODULE)].flatMap(
      ([, path = '']) => PACKAGE_PATH.exec(path) ?? [],
    ),
  );
  if (paths.length === 0) throw new Error('dist/ does not name the modules that it contains.');
  return new Set([...paths, ...COPIED]);
}

/**
 * Returns the packages that a release ships, by name: those in the built bundle of `folder`, and those
 * that are installed with it. Reads dist/ and package-lock.json.
 * @throws Error if package-lock.json does not list one of them, with its license
 */
export function findShipped(folder: string): ShippedPackage[] {
  const lock = Lock.parse(JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')));
  const installed = Object.entries(lock.packages).flatMap(([path, { dev, devOptional }]) =>
    path !== '' && !dev && !devOptional ? path : [],
  );
  const paths = new Set([...findBundled(folder), ...installed]);
  const shipped = [...paths].map((path): ShippedPackage => {
    const { version, license } = lock.packages[path] ?? {};
    if (!version || !license) throw new Error(`package-lock.json has no license of ${path}.`);
    return { name: path.replace(/^.*node_modules\//, ''), version, license, path };
  });
  return shipped.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

const Component = z.looseObject({ 'bom-ref': z.string(), name: z.string() });
const Bom = z.looseObject({
  metadata: z.looseObject({ component: Component }),
  components: z.array(Component),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

/**
 * Reduces an SBOM in CycloneDX of all installed packages, by npm, to those that ship. `npm sbom --omit=dev`
 * leaves out what is in the bundle.
 */
export function reduceBom(text: string, shipped: readonly ShippedPackage[]): string {
  const bom = Bom.parse(JSON.parse(text));
  const { component } = bom.metadata;
  const refs = new Set(shipped.map(({ name, version }) => `${name}@${version}`));
  const isShipped = (ref: string): boolean => refs.has(ref);
  const reduced = {
    $schema: bom['$schema'],
    bomFormat: bom['bomFormat'],
    specVersion: bom['specVersion'],
    serialNumber: bom['serialNumber'],
    version: bom['version'],
    // npm takes the name of the folder.
    metadata: {
      ...bom.metadata,
      component: { ...component, name: component['bom-ref'].replace(/@[^@]*$/, '') },
    },
    // To npm, what is in the bundle is for development.
    components: bom.components
      .filter((one) => isShipped(one['bom-ref']))
      .map((one) => ({ ...one, scope: 'required', properties: [] })),
    dependencies: bom.dependencies
      .filter(({ ref }) => isShipped(ref) || ref === component['bom-ref'])
      .map((one) => ({ ...one, dependsOn: one.dependsOn.filter(isShipped) })),
  };
  return `${JSON.stringify(reduced, null, 2)}\n`;
}

const LEGAL_FILE = /^(licen[cs]e|copying|notice)/i;

/** Returns the texts of a package's license and notice files; none if it is not for this machine. */
function readLegalTexts(folder: string, path: string): string[] {
  try {
    const files = readdirSync(join(folder, path), { withFileTypes: true });
    return files
      .filter((file) => file.isFile() && LEGAL_FILE.test(file.name))
      .map(({ name }) => readFileSync(join(folder, path, name), 'utf8').trim());
  } catch {
    return [];
  }
}

/** Lists the packages that ship, each with its license and the texts that it asks to keep. */
export function printLicenses(folder: string, shipped: readonly ShippedPackage[]): string {
  const sections = shipped.map(({ name, version, license, path }) => {
    const texts = readLegalTexts(folder, path);
    return [`${name} ${version}`, `License: ${license}`, ...texts].join('\n\n');
  });
  const head = 'The gateway contains or installs these packages, each under its own license.';
  return `${[head, ...sections].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
