import { readFile } from 'node:fs/promises';

import { beforeEach, expect, it } from 'vitest';

import { describeOnDatabases, openRaw, type RawDatabase } from '../../support/databases.ts';

const FILE = 'src/gateway/database/gateway-tables.sql';

const NEW_STORE = `
  create table categories (id bigint primary key, name varchar);
  select record_changes_of('categories', 'Category', 'id'), make_searchable('categories', 'id', 'name')`;

/** The catalog entries of the gateway's tables and functions, and of the triggers of `categories`. */
const READ_CATALOGUE = `
  with own as (
    select unnest(array['changes', 'idempotency_keys', 'settled_changes', 'categories_folded_name']) as name)
  select 'column' as kind, to_jsonb(columns) - '{table_catalog,udt_catalog}'::text[] as fact
    from information_schema.columns join own on name = table_name
  union all select 'index', to_jsonb(pg_indexes) from pg_indexes join own on name = tablename
  union all select 'constraint', jsonb_build_array(conname, pg_get_constraintdef(pg_constraint.oid))
    from pg_constraint join own on conrelid = name::regclass
  union all select 'view', to_jsonb(pg_get_viewdef('settled_changes'::regclass))
  union all select 'sequence', to_jsonb(pg_sequences) - 'last_value'
    from pg_sequences where sequencename = 'changes_id_seq'
  union all select 'enum', to_jsonb(enum_range(null::change_kind))
  union all select 'function',
    to_jsonb(regexp_replace(pg_get_functiondef(oid), '\\s+', ' ', 'g') || coalesce(proacl::text, ''))
    from pg_proc where proname in
      ('record_changes_of', 'record_categories', 'folded', 'spellings', 'make_searchable', 'fold_categories_name')
  union all select 'trigger', to_jsonb(pg_get_triggerdef(oid))
    from pg_trigger where tgrelid = 'categories'::regclass and not tgisinternal
  order by 1, 2`;

describeOnDatabases(() => {
  let raw: RawDatabase;
  beforeEach(async () => {
    raw = await openRaw();
    return () => raw.close();
  });

  it('the SQL file for new stores creates the same gateway tables as the migrations of the pet store', async () => {
    const petStore = await raw.run(READ_CATALOGUE);
    expect(new Set(petStore.map(({ kind }) => kind)).size).toBe(8);
    await raw.run('drop schema public cascade; create schema public');
    await raw.run(await readFile(FILE, 'utf8'));
    await raw.run(NEW_STORE);
    expect(await raw.run(READ_CATALOGUE)).toEqual(petStore);
  });

  it('the folded names that searches read follow every change to the rows, in all spellings', async () => {
    const expectCurrent = async (names: number): Promise<void> => {
      const stored = await raw.run('select id, text from categories_folded_name order by id');
      const folded =
        'select id, spellings(folded(lower(name))) as text from categories order by id';
      expect(stored).toEqual(await raw.run(folded));
      expect(stored).toHaveLength(names);
    };
    await raw.run(`insert into categories (name) values ('Zoé'), ('Երևան'), ('Cats'), ('Dogs')`);
    await expectCurrent(4);
    await raw.run(`update categories set name = 'ԱՐԵՎ' where name = 'Zoé'`);
    await raw.run(`update categories set id = 1000, name = 'Birds' where name = 'Cats'`);
    await raw.run(`delete from categories where name = 'Dogs'`);
    await expectCurrent(3);
    await raw.run('truncate categories cascade');
    await expectCurrent(0);
  });
});
