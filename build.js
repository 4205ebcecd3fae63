// Makes dist/, unless it was made of exactly what is there now: `npm start` asks each time.
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const DIST = 'dist';
const MADE_OF = join(DIST, 'made-of');
// What npm installed: the bundle has the dependencies in it.
const INSTALLED = 'node_modules/.package-lock.json';

/** Digests everything that the programs are made of: a time stamp would miss what git or cp bring back. */
function digest() {
  const sources = readdirSync('src', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const hash = createHash('sha256');
  for (const file of ['build.js', 'tsconfig.json', INSTALLED, ...sources.toSorted()]) {
    if (existsSync(file)) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

// Its ES modules and its CommonJS would be two libraries, whose types don't know each other's.
const oneGraphql = {
  name: 'one-graphql',
  setup: ({ onResolve }) => {
    const { resolve } = createRequire(import.meta.url);
    onResolve({ filter: /^graphql(\/|$)/ }, ({ path }) => ({
      path: resolve(path).replace(/\.js$/, '.mjs'),
    }));
  },
};

// OpenTelemetry, where it is set up, only sees what is required by name; that takes 50 ms longer.
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

/** One file a program, as Node.js takes longer to find a thousand modules than to run them. */
async function bundle() {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: ['src/main.ts', 'src/migrate.ts'],
    outdir: DIST,
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    platform: 'node',
    // ES modules, where a package has them, so that what is not used is left out: a sixth of the start.
    mainFields: ['module', 'main'],
    target: 'node20',
    plugins: [oneGraphql, tracedPg],
    // They read files of their own, or are so large that they are only imported when asked for.
    external: [
      '@electric-sql/pglite',
      '@graphql-yoga/render-graphiql',
      '@prisma/client/runtime/query_compiler*',
      'fs-native-extensions',
      'pg-native',
      'yaml',
    ],
    // For the dependencies that are CommonJS.
    banner: {
      js: `import { createRequire as toRequire } from 'node:module'; const require = toRequire(import.meta.url);`,
    },
  });
  return outputFiles;
}

process.chdir(import.meta.dirname);
const madeOf = digest();
if (!existsSync(MADE_OF) || readFileSync(MADE_OF, 'utf8') !== madeOf) {
  const files = await bundle();
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST);
  for (const { path, contents } of files) writeFileSync(join(DIST, basename(path)), contents);
  // Last, so that a build that was cut off is made again.
  writeFileSync(MADE_OF, madeOf);
}
