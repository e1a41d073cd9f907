// What an operator can be refused about spreading organisations over servers: codes and sentences, as in `refusal.ts`.

export const DISTRIBUTION_REFUSALS = {
  not_distributed_engine: () =>
    'this PostgreSQL has no Citus: there is nothing to distribute over, and nothing that has to be distributed',
  distribution_version: ({ version }: { version: string }) =>
    `Citus ${version} is not one that this release was tried with; it takes 13.2 or a later 13`,
  not_coordinator: () => 'this server is a worker of a Citus cluster; name its coordinator',
  coordinator_unknown: () =>
    'Citus does not know its own coordinator; call its function citus_set_coordinator_host with the name that the other servers reach it by',
  no_workers: () => 'Citus knows no server but its coordinator; add others with its function citus_add_node',
  worker_forgets: ({ server }: { server: string }) =>
    `${server} runs with fsync off, or commits without waiting for its disk, and may lose payments`,
  not_distributed: () =>
    'Citus is installed and the transactions are not distributed, or not as this release needs it',
  distributed_without_citus: () =>
    'the transactions of this database were distributed, and it has no Citus any more: they are elsewhere',
  gateways_at_work: ({ processes }: { processes: number }) =>
    `${processes} processes of the gateway are at work on this database; stop them first`,
} as const;
