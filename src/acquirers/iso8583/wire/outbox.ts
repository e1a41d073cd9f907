// What is to be sent over a connection: handed to the socket in batches, one after the other, so that it is certain which messages
// cannot have left. Everything is wiped once it has.
import type { Socket } from 'node:net';
import type { Dialect } from '../dialects/dialect.js';
import type { Codec } from './codec.js';
import { headerBytes, writeHeader } from './frames.js';
import type { RetailMac } from './mac.js';
import type { Message } from './message.js';
import type { Waiting } from './outstanding.js';

interface Queued {
  readonly bytes: Buffer;
  /** None for what concerns the connection itself. */
  readonly waiting: Waiting | undefined;
}

/** Written and copied without a pause between: one is enough for all. */
const SCRATCH = Buffer.alloc(65_536);

export class Outbox {
  #queue: Queued[] = [];
  /** How many of them concern the connection itself. */
  #ofItself = 0;
  /** A batch is with the socket, or about to be. */
  #busy = false;
  #isFilling = false;
  #closed = false;
  readonly #header: number;

  constructor(
    private readonly dialect: Dialect,
    private readonly codec: Codec,
    private readonly mac: RetailMac | undefined,
    private readonly socket: () => Socket | undefined,
    /** Told of what must not be sent any more: not one byte of it has left. */
    private readonly onWithheld: (waiting: Waiting) => void,
  ) {
    this.#header = headerBytes(dialect);
  }

  /** What is sent now goes with a batch that is about to be handed over. */
  get isFilling(): boolean {
    return this.#isFilling;
  }

  /** How many messages about the connection itself wait to be handed over. */
  get ofItself(): number {
    return this.#ofItself;
  }

  /** Goes as soon as what went before is with the system. Throws where the message cannot be written. */
  send(message: Message, waiting?: Waiting): void {
    this.#queue.push({ bytes: this.#framed(message), waiting });
    if (waiting === undefined) this.#ofItself += 1;
    if (this.#busy) return;
    this.#busy = true;
    this.#isFilling = true;
    // Behind everything that is about to be sent just now.
    queueMicrotask(() => this.#flush());
  }

  /** What has not been handed over yet is not sent any more. */
  takeBack(waiting: Waiting): void {
    const place = this.#queue.findIndex((queued) => queued.waiting === waiting);
    if (place >= 0) this.#queue.splice(place, 1)[0]?.bytes.fill(0);
  }

  close(): void {
    this.#closed = true;
    for (const { bytes } of this.#queue.splice(0)) bytes.fill(0);
  }

  #framed(message: Message): Buffer {
    // All of it, should the message turn out to be unwritable in its middle.
    let end = SCRATCH.length;
    try {
      end = this.codec.write(message, SCRATCH, this.#header, this.mac);
      writeHeader(this.dialect, end - this.#header, SCRATCH);
      return Buffer.from(SCRATCH.subarray(0, end));
    } finally {
      SCRATCH.fill(0, 0, end);
    }
  }

  /** A process that stood still meanwhile may have been presumed dead, and its orders reversed: those stay here. */
  #takeSendable(): Queued[] {
    const batch: Queued[] = [];
    for (const queued of this.#queue) {
      const { waiting, bytes } = queued;
      // guard(ISO 8583: a process that stood still sends nothing): ?.maySend === undefined || waiting.maySend() ⇒ !== null
      if (waiting?.maySend === undefined || waiting.maySend()) {
        batch.push(queued);
        continue;
      }
      bytes.fill(0);
      this.onWithheld(waiting);
    }
    this.#queue = [];
    this.#ofItself = 0;
    return batch;
  }

  #flush(): void {
    this.#isFilling = false;
    const socket = this.socket();
    if (this.#closed || socket === undefined || this.#queue.length === 0) {
      this.#busy = false;
      return;
    }
    const batch = this.#takeSendable();
    if (batch.length === 0) {
      this.#busy = false;
      return;
    }
    const all = Buffer.concat(batch.map(({ bytes }) => bytes));
    for (const { bytes, waiting } of batch) {
      // From here on any byte of it may have left.
      if (waiting !== undefined) {
        // guard(ISO 8583: what was handed to the socket may have left): waiting.handedOver = true; ⇒
        waiting.handedOver = true;
        // guard(ISO 8583: the CVV is erased): waiting.cvv?.erase(); ⇒
        waiting.cvv?.erase();
      }
      bytes.fill(0);
    }
    socket.write(all, () => {
      all.fill(0);
      this.#flush();
    });
  }
}
