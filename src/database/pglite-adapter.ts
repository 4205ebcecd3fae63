import type { PGlite } from '@electric-sql/pglite';
import { PrismaPGlite } from 'pglite-prisma-adapter';

type Adapter = Awaited<ReturnType<PrismaPGlite['connect']>>;
type Transaction = Awaited<ReturnType<Adapter['startTransaction']>>;

/** Begins a transaction; its `commit` and `rollback` end as PostgreSQL's do. */
function startTransaction(pglite: PGlite, isolationLevel?: string): Promise<Transaction> {
  return new Promise((resolve, reject) => {
    // PGlite itself sends BEGIN, then COMMIT once the callback returns. It rejects if either fails,
    // and if PostgreSQL answers COMMIT with ROLLBACK.
    const outcome = pglite.transaction(async (tx) => {
      if (isolationLevel) await tx.exec(`SET TRANSACTION ISOLATION LEVEL ${isolationLevel}`);
      // oxlint-disable-next-line no-unsafe-type-assertion -- only its `query` is called
      const session = await new PrismaPGlite(tx as unknown as PGlite).connect();
      await new Promise<void>((finish) => {
        resolve({
          provider: session.provider,
          adapterName: session.adapterName,
          options: { usePhantomQuery: true },
          queryRaw: (query) => session.queryRaw(query),
          executeRaw: (query) => session.executeRaw(query),
          commit: async () => {
            finish();
            await outcome;
          },
          rollback: async () => {
            await tx.rollback().finally(finish);
            await outcome;
          },
        });
      });
    });
    outcome.catch(reject);
  });
}

/** Prisma's adapter for PGlite; the one of version 0.7.2 ignores a COMMIT that fails. */
export class CommittingPrismaPGlite extends PrismaPGlite {
  readonly #pglite: PGlite;

  constructor(pglite: PGlite) {
    super(pglite);
    this.#pglite = pglite;
  }

  override async connect(): Promise<Adapter> {
    const adapter = await super.connect();
    adapter.startTransaction = (isolationLevel) => startTransaction(this.#pglite, isolationLevel);
    return adapter;
  }
}
