// Organisations that move while they trade. The command that moves one is killed at every step, and so are gateways and databases of both
// cells; then the command is run again, or the move is taken back.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../../testkit/bodies.js';
import type { Chance } from '../../testkit/chance.js';
import type { RunningProcess } from '../../testkit/gateway-process.js';
import { say } from '../../testkit/report.js';
import { CELLS, type Cell, type CellName } from './cell.js';
import type { Entrance } from './entrance.js';
import type { Interruption, TradingOrganisation } from './organisation.js';
import { Residues } from './residues.js';
import { MoveWatch, STEPS, type Step } from './steps.js';

export const VICTIMS = [
  'command',
  'gateway of the source',
  'gateway of the destination',
  'PostgreSQL of the source',
  'PostgreSQL of the destination',
] as const;
type Victim = (typeof VICTIMS)[number];

interface Kill {
  readonly step: Step;
  readonly victim: Victim;
}

export interface MovesOptions {
  readonly cells: Readonly<Record<CellName, Cell>>;
  readonly entrance: Entrance;
  readonly organisations: readonly TradingOrganisation[];
  readonly homes: Map<number, CellName>;
  readonly random: Chance;
  readonly moves: number;
  readonly kills: number;
  readonly atOnce: number;
}

/** What an operator is told when a command ends without success; anything else is a complaint. */
const TRIES = 60;
const ORDINARY_PERCENT = 30;
const FINISHED_PERCENT = 25;
const TRADED = 10;
const TRADE_LIMIT_MS = 120_000;
const PROBE_EVERY_MS = 200;
const POLL_MS = 8;
/** A step is struck at some moment of it, not always at its beginning. */
const JITTER_MS = 60;

export class Moves {
  readonly residues: Residues;
  readonly complaints: string[] = [];
  /** Why commands ended without success, by their first line. */
  readonly failures: Record<string, number> = {};
  /** How often each step was struck, by what. */
  readonly struck: Record<Step, Partial<Record<Victim, number>>> = {
    begun: {},
    copying: {},
    closing: {},
    closed: {},
    open: {},
    'taking back': {},
  };
  /** Of moves that nothing was done to. */
  readonly ordinary: (Interruption & { readonly closedMs: number })[] = [];
  moved = 0;
  takenBack = 0;
  finished = 0;
  inDoubt = 0;
  readonly #queue: Kill[];
  readonly #moving = new Set<number>();
  #begun = 0;

  constructor(readonly options: MovesOptions) {
    this.residues = new Residues(options.cells);
    this.#queue = planOf(options.kills, options.random);
  }

  /** Returns when all moves are over, and every step was struck. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.options.atOnce }, () => this.#worker()));
  }

  get kills(): number {
    return STEPS.reduce((sum, step) => sum + this.killsAt(step), 0);
  }

  killsAt(step: Step): number {
    return Object.values(this.struck[step]).reduce((sum, times) => sum + times, 0);
  }

  async #worker(): Promise<void> {
    const { random, moves, kills } = this.options;
    const isLeft = () => kills > 0 && this.#begun < moves + STEPS.length * 2 && this.#queue.length > 0;
    while (this.#begun < moves || isLeft()) {
      this.#begun += 1;
      const left = Math.max(1, moves - this.#begun + 1);
      const isOrdinary = this.#queue.length === 0 || (left > 1 && random.percent(ORDINARY_PERCENT));
      const killed = Math.ceil(this.#queue.length / Math.max(1, left * (1 - ORDINARY_PERCENT / 100)));
      const organisation = random.pick(this.options.organisations.filter(({ id }) => !this.#moving.has(id)));
      this.#moving.add(organisation.id);
      await this.#move(organisation, isOrdinary ? [] : this.#nextKills(killed));
      this.#moving.delete(organisation.id);
    }
  }

  /** In the order of their steps. A move that opens is not taken back. */
  #nextKills(count: number): Kill[] {
    const chosen: Kill[] = [];
    for (const kill of [...this.#queue]) {
      if (chosen.length === count) break;
      const excluded = { open: 'taking back', 'taking back': 'open' }[kill.step as string];
      if (chosen.some(({ step }) => step === excluded)) continue;
      chosen.push(kill);
      this.#queue.splice(this.#queue.indexOf(kill), 1);
    }
    return chosen.sort((one, other) => STEPS.indexOf(one.step) - STEPS.indexOf(other.step));
  }

  async #move(organisation: TradingOrganisation, kills: readonly Kill[]): Promise<void> {
    const { cells, homes, random, entrance } = this.options;
    const home = homes.get(organisation.id) as CellName;
    const to = random.pick(CELLS.filter((name) => name !== home));
    await this.residues.check(organisation.id);
    organisation.beginMove();
    await this.#traded(organisation);
    const number = this.#begun;
    const move = new Move(organisation, { source: cells[home], destination: cells[to] }, this, random);
    let isSettled = false;
    const probing = (async () => {
      for (; !isSettled; await sleep(PROBE_EVERY_MS)) await organisation.probe(Object.values(cells));
    })();
    for (const kill of kills) if (!(await move.strike(kill))) this.#queue.push(kill);
    const outcome = await move.settle();
    if (outcome === 'moved') {
      homes.set(organisation.id, to);
      await entrance.leadTo(organisation.host, to);
    }
    while (!(await entrance.readMap())) await sleep(500);
    const [now, leads] = [homes.get(organisation.id) as CellName, entrance.leadsTo(organisation.host)];
    if (leads !== now) this.complaints.push(`${organisation.host} leads to ${leads}, and is in ${now}`);
    await this.#traded(organisation);
    isSettled = true;
    await probing;
    const seen = organisation.endMove();
    await this.residues.take(organisation.id, now);
    const { closedMs } = move;
    if (outcome === 'moved') this.moved += 1;
    else this.takenBack += 1;
    this.inDoubt += move.inDoubt;
    if (kills.length === 0 && closedMs !== undefined) this.ordinary.push({ ...seen, closedMs });
    if (outcome === 'moved' && random.percent(FINISHED_PERCENT)) await this.#finish(organisation, home, to);
    say(
      `… move ${number}: organisation ${organisation.id} from ${home} to ${to}: ${outcome}; ` +
        `${kills.map(({ step, victim }) => `${victim} killed at ${step}`).join(', ') || 'nothing killed'}; ` +
        `closed for ${closedMs ?? '?'} ms, ${seen.refused} refused over ${seen.refusedMs} ms, longest gap ${seen.gapMs} ms`,
    );
  }

  async #finish(organisation: TradingOrganisation, from: CellName, to: CellName): Promise<void> {
    const words = ['organisation', 'move', String(organisation.id), '--to', to, '--finish', '--json'];
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const { code, stderr } = await this.options.cells[from].begun(...words).ended;
      if (code === 0) {
        this.finished += 1;
        return;
      }
      this.failed(stderr);
      await sleep(1_000);
    }
    this.complaints.push(`organisation ${organisation.id}: its move to ${to} could not be finished`);
  }

  async #traded(organisation: TradingOrganisation): Promise<void> {
    const enough = organisation.answered + TRADED;
    const untilMs = performance.now() + TRADE_LIMIT_MS;
    while (organisation.answered < enough) {
      if (performance.now() > untilMs) {
        this.complaints.push(`organisation ${organisation.id} does not trade any more`);
        return;
      }
      await sleep(20);
    }
  }

  failed(stderr: string): void {
    const [line = ''] = stderr.trim().split('\n').slice(-1);
    const kind = line.replaceAll(/\d+/g, 'N').slice(0, 160);
    this.failures[kind] = (this.failures[kind] ?? 0) + 1;
  }

  count({ step, victim }: Kill): void {
    const of = this.struck[step];
    of[victim] = (of[victim] ?? 0) + 1;
  }
}

/** One move, from its first command until both cells agree what became of it. */
class Move {
  closedMs: number | undefined;
  inDoubt = 0;
  readonly #watch: MoveWatch;
  #running: RunningProcess | undefined;
  #outcome: 'moved' | 'taken back' | undefined;
  #takesBack = false;
  #hasBegun = false;
  #commands = 0;

  constructor(
    private readonly organisation: TradingOrganisation,
    private readonly cells: { readonly source: Cell; readonly destination: Cell },
    private readonly moves: Moves,
    private readonly random: Chance,
  ) {
    this.#watch = new MoveWatch(organisation.id, cells);
  }

  /** Whether the move has come to that step, and something was killed there. */
  async strike(kill: Kill): Promise<boolean> {
    const { step, victim } = kill;
    if (step === 'taking back' && !(await this.#takeBack())) return false;
    let release = step === 'begun' || step === 'taking back' ? await this.#watch.hold(step) : undefined;
    try {
      for (;;) {
        this.#keepRunning();
        const place = await this.#watch.place();
        if (place !== undefined && place !== 'here') this.#hasBegun = true;
        if (place === step) break;
        if (step === 'open' && place === 'closed') release ??= await this.#watch.hold(step);
        if (this.#outcome !== undefined || place === 'moved') return false;
        if (place !== undefined && place !== 'here' && isPast(place, step)) return false;
        if (this.#commands > TRIES) return false;
        await sleep(POLL_MS);
      }
      if (release === undefined) await sleep(this.random.below(JITTER_MS));
      await this.#kill(victim);
      // A command that is dead leaves the move where it was.
      const place = victim === 'command' && release === undefined ? await this.#watch.place() : step;
      const struck = STEPS.find((each) => each === place) ?? step;
      this.moves.count({ step: struck, victim });
      return struck === step;
    } finally {
      await release?.();
    }
  }

  /** Runs the command until it ends with success, as an operator would. */
  async settle(): Promise<'moved' | 'taken back'> {
    while (this.#outcome === undefined) {
      this.#keepRunning();
      await this.#running?.ended;
      await sleep(POLL_MS);
      if (this.#outcome !== undefined) break;
      const place = await this.#watch.place();
      // It has done its work, and was killed before it could say so.
      if (place === 'moved') this.#outcome = 'moved';
      if (place === 'here' && this.#hasBegun && this.#takesBack) this.#outcome = 'taken back';
      if (this.#commands > TRIES) {
        this.moves.complaints.push(`organisation ${this.organisation.id}: its move does not end (${place})`);
        break;
      }
      await sleep(300);
    }
    await this.#watch.close();
    return this.#outcome ?? 'taken back';
  }

  /** A move that is under way is ended by its operator, who has killed the command before. */
  async #takeBack(): Promise<boolean> {
    const from = this.random.pick(['copying', 'closing', 'closed'] as const);
    for (;;) {
      this.#keepRunning();
      const place = await this.#watch.place();
      if (place !== undefined && place !== 'here') this.#hasBegun = true;
      if (this.#outcome !== undefined || place === 'open' || place === 'moved') return false;
      if (place === from || (place !== undefined && place !== 'here' && isPast(place, from))) break;
      if (this.#commands > TRIES) return false;
      await sleep(POLL_MS);
    }
    this.#running?.kill('SIGKILL');
    await this.#running?.ended;
    this.#takesBack = true;
    const place = await this.#watch.place();
    return place !== 'open' && place !== 'moved';
  }

  #keepRunning(): void {
    if (this.#running !== undefined || this.#outcome !== undefined) return;
    const { source, destination } = this.cells;
    const words = ['organisation', 'move', String(this.organisation.id), '--to', destination.name, '--json'];
    const running = source.begun(...words, ...(this.#takesBack ? ['--take-back'] : []));
    this.#running = running;
    this.#commands += 1;
    void running.ended.then(({ code, signal, stdout, stderr }) => {
      this.#running = undefined;
      if (code === 0) this.#done(JSON.parse(stdout));
      else if (signal === null) this.moves.failed(stderr);
    });
  }

  #done({ outcome, closed_ms, in_doubt }: Json): void {
    this.#outcome = outcome;
    if (typeof closed_ms === 'number') this.closedMs = closed_ms;
    if (outcome === 'moved') this.inDoubt += in_doubt;
  }

  async #kill(victim: Victim): Promise<void> {
    const { source, destination } = this.cells;
    const signal = this.random.pick(['SIGKILL', 'SIGQUIT'] as const);
    switch (victim) {
      case 'command':
        this.#running?.kill('SIGKILL');
        await this.#running?.ended;
        return;
      case 'gateway of the source':
        return source.killGateway(this.random.below(100));
      case 'gateway of the destination':
        return destination.killGateway(this.random.below(100));
      case 'PostgreSQL of the source':
        return source.killDatabase(signal);
      case 'PostgreSQL of the destination':
        return destination.killDatabase(signal);
    }
  }
}

function isPast(place: Step | 'moved', step: Step): boolean {
  if (step === 'taking back') return place === 'open' || place === 'moved';
  return place === 'moved' || STEPS.indexOf(place) > STEPS.indexOf(step);
}

/** The command at every step first, then everything else that can be killed there, as often as there is room for. */
function planOf(kills: number, random: Chance): Kill[] {
  const of = (victims: readonly Victim[]) =>
    random.shuffled(STEPS.flatMap((step) => victims.map((victim) => ({ step, victim }))));
  const plan = [...of(VICTIMS.slice(0, 1)), ...of(VICTIMS.slice(1))];
  while (plan.length < kills) plan.push(...of(VICTIMS));
  return plan.slice(0, kills);
}
