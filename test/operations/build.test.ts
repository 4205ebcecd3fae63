import { execFileSync } from 'node:child_process';
import { cp, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

import { useFolder } from '../support/folders.ts';

const folder = useFolder();
beforeAll(async () => {
  for (const name of [
    'build.js',
    'CHANGELOG.md',
    'SECURITY.md',
    'package.json',
    'tsconfig.json',
    'docs',
    'prisma',
    'prisma.config.ts',
    'scripts',
    'src',
  ]) {
    await cp(name, join(folder, name), { recursive: true });
  }
  await symlink(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'), 'junction');
});

/** Builds as `npm start` does; returns the time at which the program was written. */
async function build(): Promise<number> {
  execFileSync(process.execPath, [join(folder, 'build.js')], { stdio: 'pipe' });
  return (await stat(join(folder, 'dist/main.js'))).mtimeMs;
}

const writeProgram = (code: string): Promise<void> =>
  writeFile(join(folder, 'src/migrate.ts'), code);

const migrate = (): string =>
  execFileSync(process.execPath, ['dist/migrate.js'], {
    cwd: folder,
    encoding: 'utf8',
    env: { DATA_DIR: 'data' },
  });

describe('the build', () => {
  it("contains graphql once, because two instances reject each other's types", async () => {
    await build();
    const dist = join(folder, 'dist');
    const programs = await Promise.all(
      (await readdir(dist))
        .filter((file) => file.endsWith('.js'))
        .map((file) => readFile(join(dist, file), 'utf8')),
    );
    const modules = programs.join('').match(/^\/\/ \S+\/graphql\/type\/definition\.m?js$/gm);
    expect(modules).toHaveLength(1);
  });

  it('runs again only after a change to the source', async () => {
    // A small program is bundled faster.
    await writeFile(join(folder, 'src/main.ts'), '');
    await writeProgram('process.stdout.write("first");');
    const first = await build();
    expect(await build()).toBe(first);
    await writeProgram('process.stdout.write("changed");');
    expect(await build()).toBeGreaterThan(first);
    expect(migrate()).toBe('changed');
  });

  it('generates code again only after a change to the model, even to an older file', async () => {
    const schema = join(folder, 'prisma/schema.prisma');
    const tables = join(folder, 'src/store/generated/tables.ts');
    const before = await readFile(schema, 'utf8');
    await build();
    const { mtimeMs, mtime } = await stat(tables);
    await build();
    expect((await stat(tables)).mtimeMs).toBe(mtimeMs);
    await writeFile(schema, before.replace('/// A pet in the store.', '/// A pet to buy.'));
    await utimes(schema, mtime, new Date(0));
    await build();
    expect(await readFile(tables, 'utf8')).toContain('A pet to buy.');
    await writeFile(schema, before);
    await build();
    expect(await readFile(tables, 'utf8')).toContain('A pet in the store.');
  });

  it('keeps the previous programs if it fails, and runs again the next time', async () => {
    await writeProgram('process.stdout.write(');
    await expect(build()).rejects.toThrow('build.js');
    await expect(build()).rejects.toThrow('build.js');
    expect(migrate()).toBe('changed');
    await writeProgram('process.stdout.write("repaired");');
    await build();
    expect(migrate()).toBe('repaired');
  });
});
