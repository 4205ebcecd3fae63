// Builds dist/ unless it is up to date. `npm start` always runs this first.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';

// The source contains code that is generated from the data model.
import { digestOf, INSTALLED } from './scripts/generate.js';

const DIST = 'dist';
const DIGEST_FILE = join(DIST, 'made-of');
const INSTALLED_OR_BUILT = /examples\/(?:node_modules|dist|generated)/;
const GUIDE_RENDERER = 'scripts/render-guide.js';
const LICENSES_FILE = join(DIST, 'THIRD-PARTY-LICENSES.txt');
// Browsers load these files as they are.
const SWAGGER_UI = 'node_modules/@fastify/swagger-ui';
const SWAGGER_UI_FILES = ['swagger-ui-bundle.js', 'swagger-ui.css'];
const LEGAL_FILE = /^(licen[cs]e|copying|notice)/i;

/** Returns a digest of all inputs of the build. */
function digest() {
  const sources = ['src', 'docs']
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    // The examples in docs/ are a separate package, with their own dependencies and built files.
    .filter((entry) => entry.isFile() && !INSTALLED_OR_BUILT.test(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name));
  return digestOf([
    'build.js',
    'CHANGELOG.md',
    'package.json',
    GUIDE_RENDERER,
    'tsconfig.json',
    // Dependencies become part of the bundle.
    INSTALLED,
    ...sources.toSorted(),
  ]);
}

// Bundling both the ES modules and the CommonJS modules of graphql would result in two copies with incompatible types.
const oneGraphql = {
  name: 'one-graphql',
  setup: ({ onResolve }) => {
    const { resolve } = createRequire(import.meta.url);
    onResolve({ filter: /^graphql(\/|$)/ }, ({ path }) => ({
      path: resolve(path).replace(/\.js$/, '.mjs'),
    }));
  },
};

// OpenTelemetry can instrument pg only if pg is loaded by name from node_modules. That takes 50 ms longer than loading
// the bundled copy, so pg is loaded that way only if OpenTelemetry is set up.
const tracedPg = {
  name: 'traced-pg',
  setup: ({ onResolve, onLoad }) => {
    const { resolve } = createRequire(import.meta.url);
    onResolve({ filter: /^pg$/ }, () => ({ path: 'pg', namespace: 'traced' }));
    onLoad({ filter: /./, namespace: 'traced' }, () => ({
      contents: `module.exports = Symbol.for('opentelemetry.js.api.1') in globalThis
        ? require('by name') : require('bundled');`,
    }));
    onResolve({ filter: /./, namespace: 'traced' }, ({ path }) =>
      path === 'by name' ? { path: 'pg', external: true } : { path: resolve('pg') },
    );
  },
};

/** Returns the licenses of the bundled packages, which must be distributed with them. */
function printLicenses({ inputs }) {
  const folders = Object.keys(inputs).flatMap(
    (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [],
  );
  const sections = [...new Set([...folders, SWAGGER_UI])].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json')));
    const texts = readdirSync(folder)
      .filter((file) => LEGAL_FILE.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8').trim());
    return [`${name} ${version}`, `License: ${license}`, ...texts].join('\n\n');
  });
  // The package contains Swagger UI without its license, whose text is that of other bundled packages.
  const { devDependencies } = JSON.parse(readFileSync(join(SWAGGER_UI, 'package.json')));
  sections.push(
    `swagger-ui ${devDependencies['swagger-ui-dist']}\n\nLicense: Apache-2.0\n\nCopyright SmartBear Software Inc.`,
  );
  return `${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** Bundles each program, because Node.js takes longer to resolve a thousand modules than to run them. */
async function bundle() {
  const { build } = await import('esbuild');
  return build({
    entryPoints: ['src/main.ts', 'src/migrate.ts'],
    outdir: DIST,
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    // ES modules let esbuild remove unused code, which saves a sixth of the startup time.
    mainFields: ['module', 'main'],
    target: 'node20',
    // graphql-js compares types in half the time; the only package that reads it.
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [oneGraphql, tracedPg],
    // The first two packages read their own files; pg-native is not installed. All other packages are bundled, with
    // lazily imported modules in separate files. The Dockerfile copies the first two, and pg for OpenTelemetry.
    external: ['@electric-sql/pglite', 'fs-native-extensions', 'pg-native'],
    // Bundled CommonJS modules call `require`.
    banner: {
      js: `import { createRequire as toRequire } from 'node:module'; const require = toRequire(import.meta.url);`,
    },
  });
}

process.chdir(import.meta.dirname);
const currentDigest = digest();
const builtDigest = existsSync(DIGEST_FILE) ? readFileSync(DIGEST_FILE, 'utf8') : undefined;
// Without development dependencies (`npm ci --omit=dev`), the programs that were built earlier are used.
const canBuild = existsSync('node_modules/esbuild');
if (builtDigest !== currentDigest && (canBuild || builtDigest === undefined)) {
  const { outputFiles, metafile } = await bundle();
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST);
  for (const { path, contents } of outputFiles) writeFileSync(join(DIST, basename(path)), contents);
  const { renderGuide } = await import('./scripts/render-guide.js');
  writeFileSync(join(DIST, 'guide.json'), renderGuide());
  cpSync('src/gateway/site/browser', join(DIST, 'browser'), { recursive: true });
  mkdirSync(join(DIST, 'swagger-ui'));
  for (const file of SWAGGER_UI_FILES) {
    cpSync(join(SWAGGER_UI, 'static', file), join(DIST, 'swagger-ui', file));
  }
  writeFileSync(LICENSES_FILE, printLicenses(metafile));
  // The digest is written last, so that an interrupted build is repeated.
  writeFileSync(DIGEST_FILE, currentDigest);
}
