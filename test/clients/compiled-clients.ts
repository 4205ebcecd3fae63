import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { build } from 'esbuild';

const require = createRequire(import.meta.url);
const run = promisify(execFile);

// The generators need the JavaScript API of TypeScript, which TypeScript 7 does not have.
const RESOLVE = `export const resolve = (name, context, next) =>
  next(name === 'typescript' ? '${pathToFileURL(require.resolve('typescript-5')).href}' : name, context);`;
const toDataUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
const HOOK = toDataUrl(
  `import { register } from 'node:module'; register('${toDataUrl(RESOLVE).replaceAll("'", '%27')}');`,
);

const TSC = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');

/** The options of a strict program for browsers and Node.js. */
const COMPILER_OPTIONS = {
  target: 'es2023',
  lib: ['es2023', 'dom', 'dom.iterable'],
  module: 'esnext',
  moduleResolution: 'bundler',
  allowImportingTsExtensions: true,
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  noEmit: true,
};

/** Runs a client generator, given the path of its program, in a folder. */
export async function runGenerator(
  folder: string,
  bin: string,
  options: readonly string[],
): Promise<void> {
  await run(process.execPath, ['--import', HOOK, bin, ...options], { cwd: folder });
}

/** Returns the errors of the project's compiler for the files in a folder. */
export async function compile(
  folder: string,
  files: readonly string[],
  compilerOptions: object,
): Promise<string> {
  const config = { compilerOptions: { ...COMPILER_OPTIONS, ...compilerOptions }, files };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout } = await run(process.execPath, [TSC, '--project', folder]).catch(
    (error: { stdout: string }) => error,
  );
  return stdout;
}

/** Bundles a program in a folder and imports it. */
export async function load(folder: string, file: string): Promise<unknown> {
  const outfile = join(folder, `${file}.mjs`);
  const entryPoints = [join(folder, file)];
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node' });
  return import(pathToFileURL(outfile).href);
}
