// The merchants' port while the gateway is not up yet, because the database is lost.
import type { Certificate } from '../http/tls.js';
import { openWaitingRoom, type WaitingRoom } from '../http/waiting-room.js';
import { DATABASE_AWAY } from './database/connection.js';
import { listenError, merchantsAddress } from './settings/ports.js';
import type { Settings } from './settings/settings.js';

export class Entrance {
  #room: Promise<WaitingRoom> | undefined;

  constructor(
    private readonly settings: Settings,
    private readonly certificate: Certificate | undefined,
  ) {}

  /** Answers on the port from now on. Not on port 0: nobody would know which port it is. */
  async wait(): Promise<void> {
    const { host, port, maxConnections } = this.settings;
    if (port === 0) return;
    this.#room ??= openWaitingRoom({
      host,
      port,
      maxConnections,
      certificate: this.certificate?.pair,
      reason: DATABASE_AWAY,
    });
    await this.#room.catch((error) => {
      throw listenError(error, merchantsAddress(this.settings)) ?? error;
    });
  }

  async leave(): Promise<void> {
    const room = this.#room;
    this.#room = undefined;
    await (await room)?.close();
  }
}
