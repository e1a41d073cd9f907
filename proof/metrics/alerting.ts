// A real Prometheus and a real Alertmanager with the files of `deploy/prometheus`: which alerts the second holds back when others fire,
// and what both make of two gateways that lose their database for a while.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { paymentBody } from '../../testkit/bodies.js';
import { eventually, freePort } from '../../testkit/gateway-process.js';
import { type AttackedGateway, Installation } from '../../testkit/installation.js';

const GATEWAYS = 2;
const PURCHASE_EVERY_MS = 200;
const LOOK_EVERY_MS = 1_000;
/** Prometheus has seen both gateways for so long when the database goes. */
const BEFORE_MS = 45_000;
const HOUR_MS = 3_600_000;

/** Of the alerts that fire at the same time: the names of those that Alertmanager does not hold back. */
export async function notHeldBack(
  program: string,
  configuration: string,
  folder: string,
  alerts: readonly Labels[],
): Promise<string[]> {
  const port = await freePort();
  const alertmanager = startAlertmanager(program, folder, configuration, port);
  const address = `http://127.0.0.1:${port}/api/v2/alerts`;
  const endsAt = new Date(Date.now() + HOUR_MS).toISOString();
  const body = JSON.stringify(alerts.map((labels) => ({ labels, endsAt })));
  const headers = { 'content-type': 'application/json' };
  try {
    await eventually(async () => {
      const response = await fetch(address, { method: 'POST', headers, body }).catch(() => undefined);
      return response?.ok || undefined;
    });
    return await eventually(async () => {
      const held = (await (await fetch(address)).json()) as { labels: Labels; status: { state: string } }[];
      // Until it has looked at each of them it says so.
      if (held.length < alerts.length || held.some(({ status }) => status.state === 'unprocessed'))
        return undefined;
      const active = held.filter(({ status }) => status.state === 'active');
      return active.map(({ labels }) => labels.alertname ?? '').toSorted();
    });
  } finally {
    await alertmanager.close();
  }
}

type Labels = Readonly<Record<string, string>>;

export interface OutageOptions {
  readonly prometheus: string;
  readonly alertmanager: string;
  /** With `prometheus.yml`, `alerts.yml` and `alertmanager.yml`. */
  readonly rules: string;
  /** For what the two of them store. */
  readonly folder: string;
  readonly seconds: number;
  /** So long it is looked on afterwards. */
  readonly watchSeconds: number;
}

/** In seconds after the database went. */
export interface Notification {
  readonly atSeconds: number;
  readonly receiver: string;
  readonly status: 'firing' | 'resolved';
  readonly alertname: string;
  readonly alerts: number;
}

export interface Fired {
  readonly alertname: string;
  /** How many of them at the same time. */
  readonly most: number;
  readonly fromSeconds: number;
  readonly untilSeconds: number;
}

export interface Outage {
  readonly notifications: readonly Notification[];
  readonly fired: readonly Fired[];
}

interface Alert {
  readonly state: string;
  readonly labels: Labels;
}

export async function loseDatabase(options: OutageOptions): Promise<Outage> {
  const installation = await Installation.open({}, { killable: true });
  await installation.prepare();
  const ports = await Promise.all(Array.from({ length: GATEWAYS }, freePort));
  const gateways = await Promise.all(
    ports.map((port) => installation.startedGateway({ CONSOLE_PORT: String(port) })),
  );
  const watch = await Watch.open(options, ports);
  let trades = true;
  const trading = gateways.map((gateway) => trade(installation, gateway, () => trades));
  try {
    await sleep(BEFORE_MS);
    watch.begin();
    await installation.database.kill('SIGQUIT');
    await sleep(options.seconds * 1_000);
    await installation.database.start();
    await sleep(options.watchSeconds * 1_000);
    return watch.seen;
  } finally {
    trades = false;
    await Promise.all(trading);
    await watch.close();
    for (const gateway of gateways) gateway.kill('SIGTERM');
    await Promise.all(gateways.map(({ ended }) => ended));
    await installation.database.stop();
  }
}

/** A client that does not wait for better times. */
async function trade(installation: Installation, { baseUrl }: AttackedGateway, goesOn: () => boolean) {
  const body = JSON.stringify(paymentBody({ merchant: installation.merchantId }));
  for (let number = 0; goesOn(); number += 1) {
    await fetch(`${baseUrl}/transactions/purchase`, {
      method: 'POST',
      headers: {
        authorization: installation.authorization,
        'content-type': 'application/json',
        'x-correlation-id': `${baseUrl}-${number}`,
      },
      body,
    })
      .then((response) => response.arrayBuffer())
      .catch(() => {});
    await sleep(PURCHASE_EVERY_MS);
  }
}

class Watch {
  readonly #notifications: Notification[] = [];
  readonly #fired = new Map<string, Fired>();
  #beganMs = Number.NaN;
  #looking: NodeJS.Timeout | undefined;

  private constructor(private readonly parts: readonly { close(): unknown }[]) {}

  static async open(options: OutageOptions, gateways: readonly number[]): Promise<Watch> {
    const { folder, rules } = options;
    const file = (name: string) => readFileSync(join(rules, name), 'utf8');
    const parts: { close(): unknown }[] = [];
    const watch = new Watch(parts);
    const sink = createServer((request, response) => {
      let text = '';
      request.on('data', (part) => {
        text += part;
      });
      request.on('end', () => {
        watch.#notified(JSON.parse(text));
        response.end();
      });
    });
    await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
    parts.push(sink);
    const sinkPort = (sink.address() as AddressInfo).port;
    const [alertmanager, prometheus] = [await freePort(), await freePort()];
    const receivers = file('alertmanager.yml').replaceAll('127.0.0.1:9095', `127.0.0.1:${sinkPort}`);
    parts.push(startAlertmanager(options.alertmanager, folder, receivers, alertmanager));
    writeFileSync(join(folder, 'alerts.yml'), file('alerts.yml'));
    writeFileSync(
      join(folder, 'prometheus.yml'),
      file('prometheus.yml')
        .replace('127.0.0.1:9093', `127.0.0.1:${alertmanager}`)
        .replace('"127.0.0.1:8081"', gateways.map((port) => `"127.0.0.1:${port}"`).join(', ')),
    );
    parts.push(
      server(options.prometheus, folder, [
        '--config.file=prometheus.yml',
        '--storage.tsdb.path=prometheus',
        `--web.listen-address=127.0.0.1:${prometheus}`,
      ]),
    );
    const alerts = async () => {
      const response = await fetch(`http://127.0.0.1:${prometheus}/api/v1/alerts`).catch(() => undefined);
      return response?.ok
        ? ((await response.json()) as { data: { alerts: Alert[] } }).data.alerts
        : undefined;
    };
    await eventually(alerts);
    watch.#looking = setInterval(async () => watch.#looked((await alerts()) ?? []), LOOK_EVERY_MS);
    return watch;
  }

  begin(): void {
    this.#beganMs = performance.now();
  }

  get seen(): Outage {
    return { notifications: this.#notifications, fired: [...this.#fired.values()] };
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    for (const part of this.parts) await part.close();
  }

  get #seconds(): number {
    return Math.round((performance.now() - this.#beganMs) / 1_000);
  }

  #notified(said: {
    readonly receiver: string;
    readonly status: 'firing' | 'resolved';
    readonly groupLabels: { readonly alertname?: string };
    readonly alerts: readonly unknown[];
  }): void {
    const { receiver, status, groupLabels, alerts } = said;
    const { alertname = '' } = groupLabels;
    this.#notifications.push({
      atSeconds: this.#seconds,
      receiver,
      status,
      alertname,
      alerts: alerts.length,
    });
  }

  #looked(alerts: readonly Alert[]): void {
    const counts = new Map<string, number>();
    for (const { state, labels } of alerts)
      if (state === 'firing')
        counts.set(labels.alertname ?? '', (counts.get(labels.alertname ?? '') ?? 0) + 1);
    for (const [alertname, count] of counts) {
      const before = this.#fired.get(alertname);
      this.#fired.set(alertname, {
        alertname,
        most: Math.max(count, before?.most ?? 0),
        fromSeconds: before?.fromSeconds ?? this.#seconds,
        untilSeconds: this.#seconds,
      });
    }
  }
}

function startAlertmanager(program: string, folder: string, configuration: string, port: number) {
  writeFileSync(join(folder, 'alertmanager.yml'), configuration);
  return server(program, folder, [
    '--config.file=alertmanager.yml',
    '--storage.path=alertmanager',
    `--web.listen-address=127.0.0.1:${port}`,
    '--cluster.listen-address=',
  ]);
}

function server(program: string, folder: string, args: readonly string[]): { close(): Promise<void> } {
  const child: ChildProcess = spawn(program, args, { cwd: folder, stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  return {
    async close() {
      child.kill('SIGTERM');
      await ended;
      process.off('exit', kill);
    },
  };
}
