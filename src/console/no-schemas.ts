// Fastify without its schema compilers: no route gives Fastify a schema, and the compilers take longer to load than Fastify itself.

export const NO_SCHEMAS = { compilersFactory: { buildValidator: refuse, buildSerializer: refuse } };

function refuse(): never {
  throw new Error('a route has a schema for Fastify');
}
