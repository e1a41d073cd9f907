// Every link that is part of the program, made in one place for the gateway, for each of its workers, and for the commands that
// need to know them. Those that operators add are in `configured.ts`.
import type { AcquirerLink } from './contract.js';
import { DirectDebit } from './direct-debit.js';
import { SimulatorLedger } from './simulator/ledger.js';
import { Simulator } from './simulator/simulator.js';

export interface LinkSettings {
  readonly simulatorLedger: string;
  readonly simulatorSlowMs: number;
  readonly acquirerDeadlineMs: number;
}

/** For those who want to know the links, and open none. */
const NOWHERE: LinkSettings = { simulatorLedger: '', simulatorSlowMs: 0, acquirerDeadlineMs: 0 };

/** Made and not opened, which touches nothing. A further link is a folder beside this file and a line here. */
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

/** The links for cards that need not be added by anybody. */
export function builtInCardLinks(): AcquirerLink[] {
  return makeLinks(NOWHERE).filter((link) => !(link instanceof DirectDebit));
}

/** The names of the links that nobody has to add. */
export function builtInNames(): string[] {
  return makeLinks(NOWHERE).map(({ name }) => name);
}

export function isBuiltIn(name: string): boolean {
  return builtInNames().includes(name);
}

/** The names of the links that move no money. They are known before it is known what the links are made of. */
export function simulatedLinks(): string[] {
  return makeLinks(NOWHERE)
    .filter(({ mode }) => mode === 'test')
    .map(({ name }) => name);
}
