// As in the gateway's own prisma.config.ts: naming any executable keeps Prisma from downloading an engine that
// `prisma generate` never runs.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

export default { schema: 'prisma/schema.prisma' };
