// The built-in links, created in one place for the gateway, its workers, and commands that list them. `configured.ts` has the links that
// operators add.
import type { AcquirerLink } from './contract.js';
import { DirectDebit } from './direct-debit.js';
import { SimulatorLedger } from './simulator/ledger.js';
import { Simulator } from './simulator/simulator.js';

export interface LinkSettings {
  readonly simulatorLedger: string;
  readonly simulatorSlowMs: number;
  readonly acquirerDeadlineMs: number;
}

/** For callers that only list links and open none. */
const NOWHERE: LinkSettings = { simulatorLedger: '', simulatorSlowMs: 0, acquirerDeadlineMs: 0 };

/** Creating a link opens and touches nothing. To add a link, add a folder here and a line below. */
export function makeLinks(
  { simulatorLedger, simulatorSlowMs: slowMs, acquirerDeadlineMs: deadlineMs }: LinkSettings,
  ledger = new SimulatorLedger(simulatorLedger),
): AcquirerLink[] {
  return [
    new Simulator({ ledger, deadlineMs, slowMs }),
    DirectDebit.toOwnBank(),
    DirectDebit.toSimulatedBank(),
  ];
}

/** The built-in links for cards. */
export function builtInCardLinks(): AcquirerLink[] {
  return makeLinks(NOWHERE).filter((link) => !(link instanceof DirectDebit));
}

/** The names of the built-in links. */
export function builtInNames(): string[] {
  return makeLinks(NOWHERE).map(({ name }) => name);
}

export function isBuiltIn(name: string): boolean {
  return builtInNames().includes(name);
}

/** The names of links that move no money; known before any link is configured. */
export function simulatedLinks(): string[] {
  return makeLinks(NOWHERE)
    .filter(({ mode }) => mode === 'test')
    .map(({ name }) => name);
}
