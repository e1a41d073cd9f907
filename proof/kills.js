// Gateway processes that end as they are fated to and are started again at once, on a database that does, too.
import { setTimeout as sleep } from 'node:timers/promises';

const POINTS = ['received', 'claimed', 'answered', 'recorded'];
/** How a process may end, beside the points: by itself, while it starts, together with the other one, or the database does. */
const FIRST = [...POINTS, 'moment', 'database'];
const BLOCK = [...POINTS, 'moment', 'moment', 'moment', 'start', 'both', 'database'];

export class Kills {
  /** What the shops call. `baseUrl` is undefined while nobody listens. */
  gateways = [{ baseUrl: undefined }, { baseUrl: undefined }];
  done = {};
  failedStarts = 0;
  complaints = [];
  #installation;
  #random;
  #plan;
  #database = Promise.resolve();
  #settings;
  #kills;
  #isOver = false;
  #end;
  #over = new Promise((resolve) => {
    this.#end = resolve;
  });

  /** @param settings makes the settings of the next process */
  constructor({ installation, random, kills, settings }) {
    this.#installation = installation;
    this.#random = random;
    this.#kills = kills;
    this.#plan = planOf(kills, random);
    this.#settings = settings;
  }

  get count() {
    return Object.values(this.done).reduce((sum, times) => sum + times, 0);
  }

  /** Returns once every fate was met, and both processes listen again. */
  async run() {
    await Promise.all(this.gateways.map((gateway) => this.#keepRunning(gateway)));
    await this.#database;
  }

  async #keepRunning(gateway) {
    for (;;) {
      const fate = this.#nextFate();
      const process = this.#installation.startGateway({
        ...this.#settings(),
        ...(POINTS.includes(fate) && { CRASH_AT: `${fate}:${this.#random.between(1, 20)}` }),
      });
      gateway.process = process;
      gateway.hit = undefined;
      if (fate === 'start') this.#after(this.#random.below(500), gateway, process, fate);
      const baseUrl = await process.listening;
      gateway.baseUrl = baseUrl;
      if (baseUrl !== undefined && fate === undefined) {
        await Promise.race([process.ended, this.#over]);
        if (this.#isOver && gateway.hit === undefined) return;
      }
      if (fate === 'moment' || fate === 'both') {
        this.#after(this.#random.below(1_200), gateway, process, fate);
      }
      const { code, signal, lastWords } = await process.ended;
      gateway.baseUrl = undefined;
      await this.#judge({ fate, hit: gateway.hit, code, signal, lastWords, listened: baseUrl !== undefined });
    }
  }

  async #judge({ fate, hit, code, signal, lastWords, listened }) {
    if (signal === 'SIGKILL') {
      // One that was killed for another's sake has yet to meet its own fate.
      const met = hit ?? (POINTS.includes(fate) ? fate : undefined);
      if (met !== fate && fate !== undefined) this.#plan.push(fate);
      if (met !== undefined && met !== 'beside') this.#count(met);
      return;
    }
    if (fate !== undefined) this.#plan.push(fate);
    // Without a database it does not start, and says so.
    if (listened) this.complaints.push(`a gateway ended by itself with ${signal ?? code}: ${lastWords()}`);
    else this.failedStarts += 1;
    await sleep(100);
  }

  #after(delayMs, gateway, process, fate) {
    setTimeout(() => {
      if (gateway.process !== process || !process.kill()) return;
      gateway.hit = fate;
      if (fate !== 'both') return;
      for (const other of this.gateways) {
        if (other !== gateway && other.process?.kill()) other.hit ??= 'beside';
      }
    }, delayMs).unref();
  }

  #nextFate() {
    for (;;) {
      const fate = this.#plan.shift();
      if (fate !== 'database') return fate;
      this.#database = this.#database.then(() => this.#killDatabase());
    }
  }

  async #killDatabase() {
    await sleep(this.#random.below(1_000));
    await this.#installation.database.kill(this.#random.pick(['SIGKILL', 'SIGQUIT']));
    await this.#installation.database.start();
    this.#count('database');
  }

  #count(fate) {
    this.done[fate] = (this.done[fate] ?? 0) + 1;
    if (this.count < this.#kills) return;
    this.#isOver = true;
    this.#end();
  }
}

/** Each kind once as soon as there is room for it, and then in the mixture of the block. */
function planOf(kills, random) {
  const plan = random.shuffled(FIRST);
  while (plan.length < kills) plan.push(...random.shuffled(BLOCK));
  return plan.slice(0, kills);
}
